/* streams.c: a seeded walk over FILE calls on two files and a pipe; strace says what reached the kernel. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

static char text[70000];

static void write_some(FILE *f) {
    size_t n = (size_t)(rand() % 6000);
    switch (rand() % 10) {
    case 0:
        fwrite(text, 1, n, f);
        break;
    case 1:
        fprintf(f, "%.*s", (int)n, text);
        break;
    case 2:
        fputs("a line of text\n", f);
        break;
    case 3:
        for (size_t i = 0; i < n; i++) putc_unlocked('p', f);
        break;
    case 4:
        fputc('c', f);
        break;
    case 5:
        fflush(f);
        break;
    case 6:
        fwrite(text, 7, n, f);
        break;
    case 7:
        fseek(f, rand() % 3000, SEEK_SET);
        break;
    case 8:
        fseek(f, 0, SEEK_END);
        break;
    default:
        putw(42, f);
        break;
    }
}

static void read_some(FILE *f) {
    static char buffer[70000];
    static char *line;
    static size_t room;
    int a;
    size_t n = (size_t)(rand() % 6000);
    switch (rand() % 10) {
    case 0:
        (void)!fread(buffer, 1, n, f);
        break;
    case 1:
        (void)!fread(buffer, 13, n, f);
        break;
    case 2:
        (void)!fgets(buffer, (int)n + 2, f);
        break;
    case 3:
        for (size_t i = 0; i < n; i++) (void)getc_unlocked(f);
        break;
    case 4:
        ungetc(fgetc(f), f);
        break;
    case 5:
        (void)!getline(&line, &room, f);
        break;
    case 6:
        (void)!fscanf(f, "%d", &a);
        break;
    case 7:
        fseek(f, rand() % 30000, SEEK_SET);
        break;
    case 8:
        rewind(f);
        break;
    default:
        ungetc('x', f);
        break;
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    srand((unsigned)atoi(argv[1]));
    for (size_t i = 0; i + 1 < sizeof text; i++) text[i] = i % 60 == 59 ? '\n' : (char)('a' + i % 26);
    FILE *w = fopen("written", "w");
    for (int i = 0; i < 60; i++) write_some(w);
    if (rand() % 2) fclose(w);
    FILE *r = fopen("in", "r");
    if (rand() % 4 == 0) setvbuf(r, NULL, _IONBF, 0);
    for (int i = 0; i < 60; i++) read_some(r);
    FILE *u = fopen("updated", "w+");
    for (int i = 0; i < 40; i++) {
        for (int k = rand() % 4; k > 0; k--) write_some(u);
        fseek(u, rand() % 5000, SEEK_SET);
        for (int k = rand() % 4; k > 0; k--) read_some(u);
        fseek(u, 0, SEEK_END);
    }
    printf("walked %s\n", argv[1]);
    return 0;
}
