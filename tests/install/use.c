/* SPDX-License-Identifier: MIT */
/* use.c - a program outside of the tree: does what was installed suffice? */
#include <holdfast/holdfast.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    printf("holdfast %s, %s\n", hf_version(), hf_status_text(HF_OK));
    return strcmp(hf_version(), HF_VERSION_TEXT) == 0 &&
                   hf_version_number() == HF_VERSION_NUMBER
               ? 0
               : 1;
}
