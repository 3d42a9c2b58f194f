# SPDX-License-Identifier: MIT
# The number in the SONAME.  It says which programs can load the library and has
# nothing to do with the release's number: raise it only when a symbol goes or
# changes its meaning, and rename the node in cmake/holdfast.map with it.
set(HF_SOVERSION 0)
