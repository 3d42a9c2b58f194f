/* SPDX-License-Identifier: MIT */
/* alloc_faults.h - the n-th allocation fails.
 *
 * For programs linked with hf_add_memory_test() (CMakeLists.txt).
 * What is allocated between alloc_faults_begin() and alloc_faults_end() by code
 * that is linked statically is counted, and one of them fails.  One thread.
 */
#ifndef HFT_ALLOC_FAULTS_H
#define HFT_ALLOC_FAULTS_H

#include <stdbool.h>

/* Fail allocation number n from now on, counted from 0. */
void alloc_faults_begin(unsigned n);
/* Stop; true: there was such an allocation, and it failed. */
bool alloc_faults_end(void);
/* The test's own allocations are not meant: not counted in between. */
void alloc_faults_pause(void);
void alloc_faults_resume(void);

#endif
