// SPDX-License-Identifier: MIT

// A program that uses the mutex of redsync as it is told, line by line.  The
// lines are those of python/agent.py, which says what they mean; what is true
// is written as Python writes it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
)

const pause = 20 * time.Millisecond

// What is for one thread runs in one goroutine, in order.
type request struct {
	number, verb string
	words        []string
}

type party struct {
	pool *redis.Pool
	sync *redsync.Redsync
}

type thread struct {
	party   *party
	queue   chan request
	mutexes map[string]*redsync.Mutex
}

var output sync.Mutex

func answer(number, text string) {
	output.Lock()
	defer output.Unlock()
	fmt.Println(number, text)
}

func milliseconds(word string) time.Duration {
	n, _ := strconv.Atoi(word)
	return time.Duration(n) * time.Millisecond
}

func truth(is bool) string {
	if is {
		return "True"
	}
	return "False"
}

func open(url string) *party {
	pool := &redis.Pool{
		MaxIdle: 8,
		Dial:    func() (redis.Conn, error) { return redis.DialURL(url) },
	}
	return &party{pool, redsync.New(redigo.NewPool(pool))}
}

func (t *thread) mutex(name string, lease time.Duration, tries int) *redsync.Mutex {
	t.mutexes[name] = t.party.sync.NewMutex(name, redsync.WithExpiry(lease),
		redsync.WithTries(tries), redsync.WithRetryDelay(pause))
	return t.mutexes[name]
}

func wasTaken(err error) bool {
	var taken *redsync.ErrTaken

	return errors.Is(err, redsync.ErrFailed) || errors.As(err, &taken) ||
		errors.Is(err, context.DeadlineExceeded)
}

func (t *thread) acquire(words []string) (string, error) {
	const forever = 1 << 30
	wait := forever * time.Millisecond
	tries := forever

	if len(words) > 2 {
		wait = milliseconds(words[2])
	}
	if wait == 0 {
		wait, tries = time.Minute, 1
	}
	limited, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	err := t.mutex(words[0], milliseconds(words[1]), tries).LockContext(limited)
	if err != nil && wasTaken(err) {
		return "False", nil
	}
	return truth(err == nil), err
}

// With another length: the mutex has one of its own, so another with its value
// takes its place.
func (t *thread) extend(name string, lease time.Duration) (string, error) {
	value := t.mutexes[name].Value()
	mutex := t.party.sync.NewMutex(name, redsync.WithExpiry(lease),
		redsync.WithValue(value))
	done, err := mutex.Extend()

	if err == nil && !done {
		err = errors.New("not extended")
	}
	if err == nil {
		t.mutexes[name] = mutex
	}
	return truth(done), err
}

func (t *thread) ask(command string, words ...interface{}) (interface{}, error) {
	link := t.party.pool.Get()
	defer link.Close()
	return link.Do(command, words...)
}

func (t *thread) cycle(words []string) (string, error) {
	rounds, _ := strconv.Atoi(words[1])
	mutex := t.mutex(words[0], 30*time.Second, 1<<30)

	for i := 0; i < rounds; i++ {
		if err := mutex.Lock(); err != nil {
			return "", err
		}
		sum, err := redis.Int(t.ask("GET", words[2]))
		if err == nil {
			_, err = t.ask("SET", words[2], sum+1)
		}
		if err != nil {
			return "", err
		}
		if _, err := mutex.Unlock(); err != nil {
			return "", err
		}
	}
	return words[1], nil
}

func (t *thread) carryOut(verb string, words []string) (string, error) {
	switch verb {
	case "acquire":
		return t.acquire(words)
	case "release":
		done, err := t.mutexes[words[0]].Unlock()
		if err == nil && !done {
			err = errors.New("not released")
		}
		return "", err
	case "owned":
		held, err := redis.String(t.ask("GET", words[0]))
		if err == redis.ErrNil {
			return "False", nil
		}
		return truth(held == t.mutexes[words[0]].Value()), err
	case "locked":
		count, err := redis.Int(t.ask("EXISTS", words[0]))
		return truth(count == 1), err
	case "extend":
		return t.extend(words[0], milliseconds(words[1]))
	case "cycle":
		return t.cycle(words)
	}
	return "", errors.New("no such verb: " + verb)
}

func (t *thread) work() {
	for r := range t.queue {
		text, err := t.carryOut(r.verb, r.words)
		if err != nil {
			answer(r.number, "error "+strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			answer(r.number, strings.TrimSpace("ok "+text))
		}
	}
}

func main() {
	parties := map[string]*party{}
	threads := map[string]*thread{}
	lines := bufio.NewScanner(os.Stdin)

	answer("ready", "redsync")
	for lines.Scan() {
		words := strings.Split(lines.Text(), " ")
		number, who, verb := words[0], words[1], words[2]
		if verb == "open" {
			parties[who] = open(words[3])
			answer(number, "ok True")
			continue
		}
		if threads[who] == nil {
			threads[who] = &thread{parties[strings.Split(who, "/")[0]],
				make(chan request, 16), map[string]*redsync.Mutex{}}
			go threads[who].work()
		}
		threads[who].queue <- request{number, verb, words[3:]}
	}
}
