/* SPDX-License-Identifier: MIT */
/* version.c - what the loaded library says it is.
 *
 * A program was compiled with one version.h and may be running with another
 * library; these two answer for the library.
 */
#include "holdfast/version.h"

const char *hf_version(void)
{
    return HF_VERSION_TEXT;
}

int hf_version_number(void)
{
    return HF_VERSION_NUMBER;
}
