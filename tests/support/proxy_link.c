/* SPDX-License-Identifier: MIT */
/* proxy_link.c - one client connection, and ours to the server behind it.
 *
 * Each direction is a stream: bytes that arrived, messages cut out of them and
 * judged, waiting in order, and bytes that leave.  The message at the head is
 * carried out when it is neither held nor due later.
 *
 * Happy path: read, judge, queue, carry out and send, all in one turn.
 *
 * Ends: when the client closes, replies have nobody left, but requests still
 * go to the server, and only behind the last of them the server's side is shut
 * down.  It is shut down for writing and read until the server closes, because
 * closing with unread replies would reset the connection, and a reset throws
 * away requests that the server has not read yet.  When the server closes, the
 * client gets the replies that are left and then an end of file.  A cut is
 * both at once, from our side.
 *
 * A reply belongs to the oldest request that the server has not answered, so
 * each request passed on is remembered until then; pub/sub messages belong to
 * none.  Bytes that are not RESP are passed on as they come, unjudged.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/fatal.h"
#include "support/proxy_parts.h"
#include "support/wait.h"

struct message {
    struct message *next;
    struct hft_bytes bytes;
    struct hft_verdict verdict;
    int64_t due_ms;
    bool held;
};

struct stream {
    struct hft_bytes arrived;
    struct message *first; /* judged, waiting in order */
    struct message **end;
    struct hft_bytes leaving;
    bool black;   /* nothing passes any more */
    bool garbled; /* not RESP: passed on as it comes */
};

/* A request that the server will answer. */
struct expected {
    struct expected *next;
    struct hft_bytes request;
    size_t replies_left; /* one, or one for each channel */
    bool swallow;        /* the client knows of one reply only */
};

struct hft_link {
    unsigned index;
    int client_fd; /* -1: closed */
    int server_fd;
    bool client_shut; /* we have said that no more is coming */
    bool server_shut;
    bool cut;
    struct stream requests;
    struct stream replies;
    struct expected *expected; /* oldest first */
    struct expected **expected_end;
};

struct hft_link *hft_link_new(unsigned index, int client_fd, int server_fd)
{
    struct hft_link *link = hft_alloc(sizeof(*link));

    link->index = index;
    link->client_fd = client_fd;
    link->server_fd = server_fd;
    link->requests.end = &link->requests.first;
    link->replies.end = &link->replies.first;
    link->expected_end = &link->expected;
    link->requests.black = server_fd < 0;
    link->replies.black = server_fd < 0;
    return link;
}

/* shutdown() first: a forked child of a test may have a copy. */
static void close_fd(int *fd)
{
    if (*fd >= 0) {
        shutdown(*fd, SHUT_RDWR);
        close(*fd);
        *fd = -1;
    }
}

static void free_message(struct message *message)
{
    hft_bytes_free(&message->bytes);
    free(message);
}

static void discard_queue(struct stream *stream)
{
    struct message *message;

    while ((message = stream->first) != NULL) {
        stream->first = message->next;
        free_message(message);
    }
    stream->end = &stream->first;
    hft_bytes_free(&stream->arrived);
}

static void discard(struct stream *stream)
{
    discard_queue(stream);
    hft_bytes_free(&stream->leaving);
}

static void forget_oldest(struct hft_link *link)
{
    struct expected *oldest = link->expected;

    link->expected = oldest->next;
    if (link->expected == NULL) {
        link->expected_end = &link->expected;
    }
    hft_bytes_free(&oldest->request);
    free(oldest);
}

void hft_link_free(struct hft_link *link)
{
    close_fd(&link->client_fd);
    close_fd(&link->server_fd);
    discard(&link->requests);
    discard(&link->replies);
    while (link->expected != NULL) {
        forget_oldest(link);
    }
    free(link);
}

int hft_link_client_fd(const struct hft_link *link)
{
    return link->client_fd;
}

int hft_link_server_fd(const struct hft_link *link)
{
    return link->server_fd;
}

bool hft_link_has_for_client(const struct hft_link *link)
{
    return link->replies.leaving.length > 0;
}

bool hft_link_has_for_server(const struct hft_link *link)
{
    return link->requests.leaving.length > 0;
}

static struct hft_piece piece_of(const struct hft_bytes *bytes)
{
    struct hft_piece piece = {bytes->data, bytes->length};

    return piece;
}

static void enqueue(struct stream *stream, struct hft_piece bytes,
                    struct hft_verdict verdict)
{
    struct message *message = hft_alloc(sizeof(*message));

    hft_bytes_append(&message->bytes, bytes.data, bytes.length);
    message->verdict = verdict;
    message->held = verdict.action == HFT_HOLD;
    if (verdict.action == HFT_DELAY) {
        message->due_ms = hft_now_ms() + verdict.delay_ms;
    }
    *stream->end = message;
    stream->end = &message->next;
}

/* Do with an arriving message what the rules say. */
static void arrive(struct stream *stream, struct hft_piece bytes,
                   const struct hft_sight *sight, struct hft_rules *rules)
{
    struct hft_verdict verdict = hft_rules_judge(rules, sight);

    if (verdict.action == HFT_BLACK_HOLE) {
        stream->black = true;
    }
    if (!stream->black) {
        enqueue(stream, bytes, verdict);
    }
}

static void request_arrives(struct hft_link *link, struct hft_piece bytes,
                            struct hft_rules *rules)
{
    struct hft_sight sight = {HFT_REQUEST, link->index,
                              hft_resp_first_word(bytes), bytes};

    arrive(&link->requests, bytes, &sight, rules);
}

static bool is_one_of(struct hft_piece word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (hft_piece_is(word, *list)) {
            return true;
        }
    }
    return false;
}

static bool is_published(struct hft_piece word)
{
    static const char *const kinds[] = {"message", "pmessage", "smessage",
                                        NULL};

    return is_one_of(word, kinds);
}

static bool is_subscription(struct hft_piece word)
{
    static const char *const kinds[] = {
        "subscribe",  "unsubscribe",  "psubscribe", "punsubscribe",
        "ssubscribe", "sunsubscribe", NULL};

    return is_one_of(word, kinds);
}

/* Remember that the server owes an answer to what has just been passed on. */
static void expect(struct hft_link *link, struct hft_piece request,
                   bool swallow)
{
    struct expected *expected = hft_alloc(sizeof(*expected));
    size_t words = hft_resp_count(request);

    hft_bytes_append(&expected->request, request.data, request.length);
    expected->swallow = swallow;
    expected->replies_left = 1;
    if (is_subscription(hft_resp_first_word(request)) && words > 2) {
        expected->replies_left = words - 1;
    }
    *link->expected_end = expected;
    link->expected_end = &expected->next;
}

/* Whether a reply is for the oldest unanswered request.  Confirmations of an
 * UNSUBSCRIBE without names come in any number, so those beyond the first are
 * known by their kind. */
static bool answers_oldest(const struct hft_link *link, struct hft_piece reply)
{
    struct hft_piece kind = hft_resp_first_word(reply);

    if (link->expected == NULL) {
        return false;
    }
    if (hft_resp_count(reply) != 3 || !is_subscription(kind)) {
        return true;
    }
    return hft_piece_same(
        kind, hft_resp_first_word(piece_of(&link->expected->request)));
}

/* Judge a reply as one to the oldest request, and cross that off. */
static void answer_arrives(struct hft_link *link, struct hft_piece bytes,
                           struct hft_rules *rules)
{
    struct expected *oldest = link->expected;
    struct hft_piece request = piece_of(&oldest->request);
    struct hft_sight sight = {HFT_REPLY, link->index,
                              hft_resp_first_word(request), request};

    if (!oldest->swallow) {
        arrive(&link->replies, bytes, &sight, rules);
    }
    oldest->replies_left--;
    if (oldest->replies_left == 0 || bytes.data[0] == '-') {
        forget_oldest(link);
    }
}

static void reply_arrives(struct hft_link *link, struct hft_piece bytes,
                          struct hft_rules *rules)
{
    struct hft_piece kind = hft_resp_first_word(bytes);
    struct hft_sight sight = {HFT_REPLY, link->index, kind, bytes};

    if (!(hft_resp_count(bytes) >= 3 && is_published(kind)) &&
        answers_oldest(link, bytes)) {
        answer_arrives(link, bytes, rules);
        return;
    }
    arrive(&link->replies, bytes, &sight, rules);
}

typedef void arrival(struct hft_link *link, struct hft_piece bytes,
                     struct hft_rules *rules);

/* Cut what has arrived into messages. */
static void take_apart(struct hft_link *link, struct stream *stream,
                       arrival *arrives, struct hft_rules *rules)
{
    struct hft_bytes *arrived = &stream->arrived;
    struct hft_verdict pass = {.action = HFT_PASS};
    struct hft_piece bytes;
    ssize_t length = 0;
    size_t done = 0;

    while (!stream->garbled && !stream->black && done < arrived->length) {
        bytes.data = arrived->data + done;
        length = hft_resp_length(bytes.data, arrived->length - done);
        if (length <= 0) {
            stream->garbled = length < 0;
            break;
        }
        bytes.length = (size_t)length;
        arrives(link, bytes, rules);
        done += bytes.length;
    }
    if (stream->black) {
        done = arrived->length;
    }
    hft_bytes_eat(arrived, done);
    if (stream->garbled && arrived->length > 0) {
        enqueue(stream, piece_of(arrived), pass);
        hft_bytes_eat(arrived, arrived->length);
    }
}

void hft_link_read_client(struct hft_link *link, struct hft_rules *rules)
{
    if (!hft_bytes_receive(&link->requests.arrived, link->client_fd)) {
        close_fd(&link->client_fd);
        discard(&link->replies);
    } else if (link->cut || link->server_fd < 0) {
        hft_bytes_free(&link->requests.arrived);
    } else {
        take_apart(link, &link->requests, request_arrives, rules);
    }
}

void hft_link_read_server(struct hft_link *link, struct hft_rules *rules)
{
    if (!hft_bytes_receive(&link->replies.arrived, link->server_fd)) {
        close_fd(&link->server_fd);
        discard(&link->requests);
    } else if (link->cut || link->client_fd < 0) {
        hft_bytes_free(&link->replies.arrived);
    } else {
        take_apart(link, &link->replies, reply_arrives, rules);
    }
}

static void release_stream(struct stream *stream, int rule)
{
    struct message *message;

    for (message = stream->first; message != NULL; message = message->next) {
        if (rule == 0 || message->verdict.rule == rule) {
            message->held = false;
        }
    }
}

void hft_link_release(struct hft_link *link, int rule)
{
    release_stream(&link->requests, rule);
    release_stream(&link->replies, rule);
}

void hft_link_break(struct hft_link *link)
{
    close_fd(&link->client_fd);
    discard(&link->replies);
    link->requests.black = false; /* so that the server's side ends as well */
}

/* How often a message is passed on, and whether the link ends with it. */
struct passage {
    unsigned copies;
    bool cut;
};

static struct passage passage_of(enum hft_action action)
{
    struct passage passage = {.copies = 1};

    switch (action) {
    case HFT_PASS:
    case HFT_DELAY:
    case HFT_HOLD:
        break;
    case HFT_DROP:
    case HFT_BLACK_HOLE:
        passage.copies = 0;
        break;
    case HFT_REPEAT:
        passage.copies = 2;
        break;
    case HFT_CUT_BEFORE:
        passage.copies = 0;
        passage.cut = true;
        break;
    case HFT_CUT_AFTER:
        passage.cut = true;
        break;
    }
    return passage;
}

static void carry_out(struct hft_link *link, struct stream *stream,
                      const struct message *message)
{
    struct passage passage = passage_of(message->verdict.action);
    struct hft_piece bytes = piece_of(&message->bytes);
    unsigned copy;

    for (copy = 0; copy < passage.copies; copy++) {
        hft_bytes_append(&stream->leaving, bytes.data, bytes.length);
        if (stream == &link->requests) {
            expect(link, bytes, copy > 0);
        }
    }
    if (passage.cut) {
        link->cut = true;
        discard_queue(stream);
        discard_queue(&link->replies);
    }
}

static void carry_stream(struct hft_link *link, struct stream *stream,
                         int64_t now_ms)
{
    struct message *head;

    while ((head = stream->first) != NULL && !head->held &&
           head->due_ms <= now_ms) {
        stream->first = head->next;
        if (stream->first == NULL) {
            stream->end = &stream->first;
        }
        carry_out(link, stream, head);
        free_message(head);
    }
}

static bool is_empty(const struct stream *stream)
{
    return stream->first == NULL && stream->leaving.length == 0;
}

/* Say to a side that no more is coming, once nothing is. */
static void end_sides(struct hft_link *link)
{
    bool for_client = !link->cut &&
                      (link->server_fd >= 0 || link->replies.black);
    bool for_server = !link->cut &&
                      (link->client_fd >= 0 || link->requests.black);

    if (link->client_fd >= 0 && !link->client_shut && !for_client &&
        is_empty(&link->replies)) {
        link->client_shut = true;
        shutdown(link->client_fd, SHUT_WR);
    }
    if (link->server_fd >= 0 && !link->server_shut && !for_server &&
        is_empty(&link->requests)) {
        link->server_shut = true;
        shutdown(link->server_fd, SHUT_WR);
    }
}

bool hft_link_carry(struct hft_link *link, int64_t now_ms)
{
    carry_stream(link, &link->requests, now_ms);
    carry_stream(link, &link->replies, now_ms);
    if (link->server_fd >= 0 &&
        !hft_bytes_send(&link->requests.leaving, link->server_fd)) {
        close_fd(&link->server_fd);
        discard(&link->requests);
    }
    if (link->client_fd >= 0 &&
        !hft_bytes_send(&link->replies.leaving, link->client_fd)) {
        close_fd(&link->client_fd);
        discard(&link->replies);
    }
    end_sides(link);
    return link->client_fd >= 0 || link->server_fd >= 0;
}

static int64_t stream_due_ms(const struct stream *stream)
{
    if (stream->first == NULL || stream->first->held) {
        return INT64_MAX;
    }
    return stream->first->due_ms;
}

int64_t hft_link_due_ms(const struct hft_link *link)
{
    int64_t request_ms = stream_due_ms(&link->requests);
    int64_t reply_ms = stream_due_ms(&link->replies);

    return request_ms < reply_ms ? request_ms : reply_ms;
}
