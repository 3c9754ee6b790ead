/*
 * A library that is loaded before the C library makes one system call of a PostgreSQL backend fail, as a broken or full
 * disk does. It fails only what touches the write-ahead log, and only in the process that is named in the file
 * FAILING_DISK, which holds "<process id> <system call> <errno>". The file is removed when the call fails, so that the
 * recovery afterwards finds a sound disk. The process id 0 stands for a full disk: as long as the file is there, the call
 * fails in all processes for temporary files.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int is_in(int fd, const char *folder)
{
	char link[64], path[4096];
	ssize_t length;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	if (length < 0)
		return 0;
	path[length] = '\0';
	return strstr(path, folder) != NULL;
}

static int fails(const char *call, int fd)
{
	const char *name = getenv("FAILING_DISK");
	char wanted[16];
	int process, reason, found;
	FILE *file;

	if (name == NULL || (file = fopen(name, "r")) == NULL)
		return 0;
	found = fscanf(file, "%d %15s %d", &process, wanted, &reason);
	fclose(file);
	if (found != 3 || strcmp(wanted, call) != 0)
		return 0;
	if (process == 0 ? !is_in(fd, "/pgsql_tmp/") : process != getpid() || !is_in(fd, "/pg_wal/") || unlink(name) != 0)
		return 0;
	errno = reason;
	return 1;
}

int fdatasync(int fd)
{
	int (*next)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");

	return fails("fdatasync", fd) ? -1 : next(fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	ssize_t (*next)(int, const void *, size_t, off_t) =
		(ssize_t (*)(int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite");

	return fails("pwrite", fd) ? -1 : next(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
	return pwrite(fd, bytes, size, offset);
}
