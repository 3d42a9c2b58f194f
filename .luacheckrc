-- SPDX-License-Identifier: MIT
-- Redis runs Lua 5.1 with these besides; KEYS and ARGV are the call's own.
std = "lua51"
read_globals = {"redis", "KEYS", "ARGV", "cjson", "cmsgpack", "bit", "struct"}
max_line_length = 80
allow_defined_top = false
-- The part that the scripts of the fair lock begin with.
files["src/scripts/fair_*.lua"] = {globals = {"fair"}}
files["src/scripts/values_*.lua"] = {globals = {"values"}}
files["src/scripts/permits_*.lua"] = {globals = {"permits"}}
files["src/scripts/parts/*.lua"] = {ignore = {"241"}}
