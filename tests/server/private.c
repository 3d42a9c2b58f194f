/* SPDX-License-Identifier: MIT */
/* private.c - a runtime directory for one test, and looking at what runs there.
 */
#include "private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/fatal.h"
#include "support/scratch.h"

char *private_folder;
char *private_path;

int private_up(void **state)
{
    (void)state;
    private_folder = hft_scratch_new();
    private_path = hft_copy_text(getenv("PATH"));
    return setenv("XDG_RUNTIME_DIR", private_folder, 1);
}

int private_down(void **state)
{
    hf_error error;
    hf_status status;

    (void)state;
    (void)setenv("XDG_RUNTIME_DIR", private_folder, 1);
    (void)setenv("PATH", private_path, 1);
    status = hf_server_stop(PRIVATE_NAME, &error);
    if (status != HF_OK && status != HF_PERMISSION) {
        print_error("%s\n", error.message);
        return -1;
    }
    hft_scratch_delete(private_folder);
    free(private_path);
    return 0;
}

hf_server_info private_look(void)
{
    hf_server_info info = HF_SERVER_INFO_INIT;

    assert_int_equal(hf_server_status(PRIVATE_NAME, &info, NULL), HF_OK);
    return info;
}

bool private_is_gone(void *pid)
{
    long long number = (long long)*(int64_t *)pid;
    char *file = hft_format("/proc/%lld/stat", number);
    FILE *stream = fopen(file, "r");
    char text[512];
    const char *name_end;

    free(file);
    if (stream == NULL) {
        return true;
    }
    name_end = fgets(text, sizeof(text), stream) == NULL ? NULL
                                                         : strrchr(text, ')');
    (void)fclose(stream);
    return name_end == NULL || name_end[2] == 'Z' || name_end[2] == 'X';
}

int private_servers(void)
{
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    int count = 0;

    assert_non_null(processes);
    while ((entry = readdir(processes)) != NULL) {
        char file[300];
        char title[1024] = "";
        FILE *stream;

        (void)snprintf(file, sizeof(file), "/proc/%s/cmdline", entry->d_name);
        stream = fopen(file, "r");
        if (stream == NULL) {
            continue;
        }
        if (fread(title, 1, sizeof(title) - 1, stream) > 0 &&
            strstr(title, private_folder) != NULL) {
            count++;
        }
        (void)fclose(stream);
    }
    (void)closedir(processes);
    return count;
}

void private_write_file(const char *name, const char *text, mode_t mode)
{
    char *file = hft_format("%s/%s", private_folder, name);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    size_t len = strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, len), len);
    assert_int_equal(close(fd), 0);
    free(file);
}
