/* SPDX-License-Identifier: MIT */
/* pair.c - the model and a real server side by side; see pair.h. */
#include "pair.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/address.h"
#include "support/fatal.h"
#include "support/redis.h"
#include "support/server.h"
#include "support/wait.h"

#define KEPT 24
#define LONGEST_SHOWN 400
#define ANSWER_BOUND_MS 20000
#define SILENCE_MS 100
#define CLOSED "<closed>"

struct side {
    int fd;                /* to the real server */
    struct sim_conn *conn; /* to the model */
    struct hft_bytes real; /* what came */
    struct hft_bytes model;
    size_t taken_real; /* what of it was handed out */
    size_t taken_model;
};

struct sim_pair {
    struct hft_server *server;
    struct sim_server *model;
    struct side asks;
    struct side listens;
    struct side thrown;
    struct hft_bytes request;
    char *kept[KEPT];
    uint64_t asked;
};

/* ---- requests ---- */

void sim_request_add(struct sim_request *request, struct hft_piece word)
{
    if (request->count == SIM_PAIR_WORDS) {
        hft_die("a request has too many words");
    }
    request->words[request->count++] = word;
}

void sim_request_add_text(struct sim_request *request, const char *text)
{
    sim_request_add(request, (struct hft_piece){text, strlen(text)});
}

void sim_request_add_line(struct sim_request *request, const char *line)
{
    while (*line != '\0') {
        size_t len = strcspn(line, " ");

        sim_request_add(request, (struct hft_piece){line, len});
        line += len + (line[len] == ' ' ? 1 : 0);
    }
}

static void format(struct hft_bytes *out, const struct sim_request *request)
{
    char head[32];

    out->length = 0;
    (void)snprintf(head, sizeof(head), "*%zu\r\n", request->count);
    hft_bytes_append_text(out, head);
    for (size_t i = 0; i < request->count; i++) {
        (void)snprintf(head, sizeof(head), "$%zu\r\n",
                       request->words[i].length);
        hft_bytes_append_text(out, head);
        hft_bytes_append(out, request->words[i].data, request->words[i].length);
        hft_bytes_append_text(out, "\r\n");
    }
}

/* ---- the real server ---- */

static void send_all(struct side *side, const char *bytes, size_t len)
{
    struct hft_bytes left = {.length = 0};
    struct pollfd polled = {.fd = side->fd, .events = POLLOUT};

    hft_bytes_append(&left, bytes, len);
    while (left.length > 0) {
        (void)poll(&polled, 1, ANSWER_BOUND_MS);
        if (!hft_bytes_send(&left, side->fd)) {
            hft_die("the real server hung up");
        }
    }
    hft_bytes_free(&left);
}

/* How long the first `count` messages are; 0: they are not all there. */
static size_t length_of(const struct hft_bytes *bytes, size_t count)
{
    size_t at = 0;

    for (size_t i = 0; i < count; i++) {
        ssize_t len = hft_resp_length(bytes->data + at, bytes->length - at);

        if (len <= 0) {
            return 0;
        }
        at += (size_t)len;
    }
    return at;
}

static size_t count_messages(const struct hft_bytes *bytes)
{
    size_t count = 0;
    size_t at = 0;

    while (at < bytes->length) {
        ssize_t len = hft_resp_length(bytes->data + at, bytes->length - at);

        if (len <= 0) {
            hft_die("the model wrote what is no reply");
        }
        at += (size_t)len;
        count++;
    }
    return count;
}

/* Receive until so many messages are there. */
static size_t receive(struct side *side, size_t count)
{
    struct pollfd polled = {.fd = side->fd, .events = POLLIN};
    size_t len = 0;

    while (count > 0 && (len = length_of(&side->real, count)) == 0) {
        if (poll(&polled, 1, ANSWER_BOUND_MS) == 0) {
            break; /* fewer: the answers differ */
        }
        if (!hft_bytes_receive(&side->real, side->fd)) {
            hft_die("the real server hung up");
        }
    }
    return len > 0 || count == 0 ? len : side->real.length;
}

/* ---- both ---- */

static void hear(void *context, struct sim_conn *conn, const char *bytes,
                 size_t len)
{
    struct sim_pair *pair = context;

    (void)conn; /* one alone listens */
    hft_bytes_append(&pair->listens.model, bytes, len);
}

static void open_side(struct sim_pair *pair, struct side *side)
{
    side->fd = hft_connect_unix(hft_server_socket(pair->server));
    side->conn = sim_conn_open(pair->model, NULL);
    if (side->fd < 0) {
        hft_die("cannot connect to the real server");
    }
}

static void close_side(struct side *side)
{
    if (side->conn != NULL) {
        close(side->fd);
        sim_conn_close(side->conn);
        hft_bytes_free(&side->real);
        hft_bytes_free(&side->model);
        *side = (struct side){.conn = NULL};
    }
}

struct sim_pair *sim_pair_new(const char *password)
{
    struct sim_pair *pair = hft_alloc(sizeof(*pair));
    struct hft_server_options options = {.password = password};
    struct sim_server_config config = {.password = password,
                                       .deliver = hear,
                                       .context = pair,
                                       .keep_writes = 8};

    pair->server = hft_server_start(&options);
    (void)hft_int(pair->server, "DEBUG SET-ACTIVE-EXPIRE 0");
    pair->model = sim_server_new(&config);
    open_side(pair, &pair->asks);
    open_side(pair, &pair->listens);
    return pair;
}

void sim_pair_free(struct sim_pair *pair)
{
    close_side(&pair->asks);
    close_side(&pair->listens);
    close_side(&pair->thrown);
    hft_bytes_free(&pair->request);
    sim_server_free(pair->model);
    hft_server_free(pair->server);
    for (size_t i = 0; i < KEPT; i++) {
        free(pair->kept[i]);
    }
    free(pair);
}

struct sim_server *sim_pair_model(struct sim_pair *pair)
{
    return pair->model;
}

uint64_t sim_pair_asked(const struct sim_pair *pair)
{
    return pair->asked;
}

int64_t sim_pair_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool is_past(void *context)
{
    return sim_pair_now_ms() > *(const int64_t *)context;
}

void sim_pair_wait_past(int64_t instant_ms)
{
    if (!hft_wait_until(is_past, &instant_ms, ANSWER_BOUND_MS)) {
        hft_die("the clock stands still");
    }
}

/* ---- what is kept for a failure ---- */

static void append_shown(struct hft_bytes *out, struct hft_piece text)
{
    char escaped[8];

    for (size_t i = 0; i < text.length && i < LONGEST_SHOWN; i++) {
        unsigned char byte = (unsigned char)text.data[i];

        if (byte >= ' ' && byte <= '~') {
            hft_bytes_append(out, text.data + i, 1);
        } else if (byte == '\n') {
            hft_bytes_append_text(out, " ");
        } else if (byte != '\r') {
            (void)snprintf(escaped, sizeof(escaped), "\\x%02x", byte);
            hft_bytes_append_text(out, escaped);
        }
    }
}

static void keep(struct sim_pair *pair, const struct sim_request *request,
                 struct sim_answers answers)
{
    struct hft_bytes line = {.length = 0};
    char **slot = &pair->kept[pair->asked++ % KEPT];

    for (size_t i = 0; i < request->count; i++) {
        hft_bytes_append_text(&line, i == 0 ? "> [" : "[");
        append_shown(&line, request->words[i]);
        hft_bytes_append_text(&line, "] ");
    }
    hft_bytes_append_text(&line, "\n   real:  ");
    append_shown(&line, answers.real);
    hft_bytes_append_text(&line, "\n   model: ");
    append_shown(&line, answers.model);
    hft_bytes_append(&line, "", 1);
    free(*slot);
    *slot = line.data;
}

void sim_pair_print(const struct sim_pair *pair)
{
    for (uint64_t i = 0; i < KEPT; i++) {
        const char *line = pair->kept[(pair->asked + i) % KEPT];

        if (line != NULL) {
            fprintf(stderr, "%s\n", line);
        }
    }
}

/* ---- asking ---- */

/* Hand out what there is; it is forgotten when the side is asked again. */
static struct sim_answers hand_out(struct side *side, size_t real_len)
{
    side->taken_real = real_len;
    side->taken_model = side->model.length;
    return (struct sim_answers){
        .real = {side->real.data, real_len},
        .model = {side->model.data, side->model.length}};
}

static void forget_taken(struct side *side)
{
    hft_bytes_eat(&side->real, side->taken_real);
    hft_bytes_eat(&side->model, side->taken_model);
}

static struct sim_answers ask(struct sim_pair *pair, struct side *side,
                              const struct sim_request *request)
{
    int64_t now_ms = sim_pair_now_ms();
    struct sim_answers answers;

    forget_taken(side);
    format(&pair->request, request);
    send_all(side, pair->request.data, pair->request.length);
    (void)sim_server_request(side->conn, pair->request.data,
                             pair->request.length, now_ms, &side->model);
    answers = hand_out(side, receive(side, count_messages(&side->model)));
    keep(pair, request, answers);
    return answers;
}

struct sim_answers sim_pair_ask(struct sim_pair *pair,
                                const struct sim_request *request)
{
    return ask(pair, &pair->asks, request);
}

struct sim_answers sim_pair_listen(struct sim_pair *pair,
                                   const struct sim_request *request)
{
    return ask(pair, &pair->listens, request);
}

/* Receive until the server closes or is silent; whether it has closed. */
static bool receive_all(struct side *side)
{
    struct pollfd polled = {.fd = side->fd, .events = POLLIN};

    while (poll(&polled, 1, SILENCE_MS) > 0) {
        if (!hft_bytes_receive(&side->real, side->fd)) {
            return true;
        }
    }
    return false;
}

struct sim_answers sim_pair_throw(struct sim_pair *pair, const char *bytes)
{
    struct side *side = &pair->thrown;

    close_side(side);
    open_side(pair, side);
    send_all(side, bytes, strlen(bytes));
    if (!sim_server_request(side->conn, bytes, strlen(bytes), sim_pair_now_ms(),
                            &side->model)) {
        hft_bytes_append_text(&side->model, CLOSED);
    }
    if (receive_all(side)) {
        hft_bytes_append_text(&side->real, CLOSED);
    }
    return hand_out(side, side->real.length);
}
