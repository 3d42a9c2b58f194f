/* SPDX-License-Identifier: MIT */
/* holdfast/version.h - which holdfast this is; the build reads it from here. */
#ifndef HOLDFAST_VERSION_H
#define HOLDFAST_VERSION_H

#include "holdfast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 1
#define HF_VERSION_PATCH 0

/* The three as one number that can be compared: 0xMMmmpp. */
#define HF_VERSION_NUMBER                                                      \
    ((HF_VERSION_MAJOR << 16) | (HF_VERSION_MINOR << 8) | HF_VERSION_PATCH)

#define HF_VERSION_TEXT_2(major, minor, patch) #major "." #minor "." #patch
#define HF_VERSION_TEXT_1(major, minor, patch)                                 \
    HF_VERSION_TEXT_2(major, minor, patch)

/* The same as text: "0.1.0".  hf_version() answers for the loaded library. */
#define HF_VERSION_TEXT                                                        \
    HF_VERSION_TEXT_1(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)

/** The loaded library's version as text, which need not be the header's.
 *  Never blocks; any thread.  The text is static. */
HF_API const char *hf_version(void);

/** The loaded library's HF_VERSION_NUMBER.  As hf_version(). */
HF_API int hf_version_number(void);

#ifdef __cplusplus
}
#endif

#endif /* HOLDFAST_VERSION_H */
