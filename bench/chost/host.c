/* The host of the listen benchmarks: bare system calls, so that what is measured
 * is who listens. `chost MODE N` answers each prompt with N messages and a result:
 * `ask` with questions, each sent after the answer to the one before; `flood` with
 * progress messages, as fast as the pipe takes them; `large` with such of 64 KB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char in[1 << 16], out[1 << 17], text[65400];
static int have, at;

/* heard waits for the next line of the input; 0 at its end. */
static int heard(void) {
	for (;;) {
		while (at < have)
			if (in[at++] == '\n') return 1;
		have = read(0, in, sizeof in), at = 0;
		if (have <= 0) return 0;
	}
}

static void say(const char *b, long n) {
	while (n > 0) {
		long k = write(1, b, n);
		if (k <= 0) exit(1);
		b += k, n -= k;
	}
}

static long progress(char *to, const char *message, long i) {
	return sprintf(to, "{\"type\":\"progress\",\"message\":\"%s %ld of the task\",\"percent\":%ld,\"stage\":\"build\",\"done\":false}\n", message, i, i % 100);
}

int main(int argc, char **argv) {
	if (argc != 3) {
		fprintf(stderr, "usage: chost ask|flood|large N\n");
		return 2;
	}
	const char *mode = argv[1];
	long n = atol(argv[2]);
	memset(text, 'x', sizeof text - 1);
	while (heard()) {
		long used = 0;
		for (long i = 0; i < n; i++) {
			if (!strcmp(mode, "ask")) {
				say(out, sprintf(out, "{\"type\":\"question\",\"id\":\"q%ld\",\"question\":\"which of the two should I take?\",\"options\":[\"left\",\"right\"]}\n", i));
				if (!heard()) return 1;
			} else if (!strcmp(mode, "large")) {
				say(out, progress(out, text, i));
			} else if ((used += progress(out + used, "working on part", i)) > 65000) {
				say(out, used);
				used = 0;
			}
		}
		used += sprintf(out + used, "{\"type\":\"result\",\"text\":\"done\"}\n");
		say(out, used);
	}
	return 0;
}
