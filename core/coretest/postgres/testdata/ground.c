/*
 * A library that is loaded before the C library and takes away what a PostgreSQL server stands on.
 *
 * Its disk fails as the file FAILING_DISK says, which holds "<process id> <system call> <errno> <folder>": the call fails
 * in this process, or with the id -1 in the first one to make it, for a file in such a folder. The file is removed then,
 * so that the recovery afterwards finds a sound disk. The id 0 stands for a full disk: as long as the file is there, the
 * call fails in all processes where it makes a file longer.
 *
 * Its clock is ahead by the microseconds that the file MOVED_CLOCK begins with, as an integer of this machine.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
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

static int fails(const char *call, int fd, off_t end)
{
	const char *name = getenv("FAILING_DISK");
	char wanted[16], folder[64];
	int process, reason, found;
	struct stat now;
	FILE *file;

	if (name == NULL || (file = fopen(name, "r")) == NULL)
		return 0;
	found = fscanf(file, "%d %15s %d %63s", &process, wanted, &reason, folder);
	fclose(file);
	if (found != 4 || strcmp(wanted, call) != 0 || !is_in(fd, folder))
		return 0;
	if (process == 0 ? fstat(fd, &now) != 0 || end <= now.st_size
			: (process > 0 && process != getpid()) || unlink(name) != 0)
		return 0;
	errno = reason;
	return 1;
}

int fdatasync(int fd)
{
	int (*next)(int) = (int (*)(int)) dlsym(RTLD_NEXT, "fdatasync");

	return fails("fdatasync", fd, 0) ? -1 : next(fd);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	ssize_t (*next)(int, const void *, size_t, off_t) =
		(ssize_t (*)(int, const void *, size_t, off_t)) dlsym(RTLD_NEXT, "pwrite");

	return fails("pwrite", fd, offset + (off_t) size) ? -1 : next(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
	return pwrite(fd, bytes, size, offset);
}

ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
	ssize_t (*next)(int, const struct iovec *, int, off_t) =
		(ssize_t (*)(int, const struct iovec *, int, off_t)) dlsym(RTLD_NEXT, "pwritev");
	off_t end = offset;
	int i;

	for (i = 0; i < count; i++)
		end += (off_t) pieces[i].iov_len;
	return fails("pwrite", fd, end) ? -1 : next(fd, pieces, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off_t offset)
{
	return pwritev(fd, pieces, count, offset);
}

/* Processes that the server forks share what the first one has mapped. */
static long long ahead(void)
{
	static volatile long long *moved;
	static int looked;
	const char *name;
	void *mapped;
	int fd;

	if (!looked && (name = getenv("MOVED_CLOCK")) != NULL && (fd = open(name, O_RDONLY)) >= 0) {
		mapped = mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, fd, 0);
		close(fd);
		if (mapped != MAP_FAILED)
			moved = mapped;
	}
	looked = 1;
	return moved == NULL ? 0 : *moved;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	static int (*next)(struct timeval *, void *);
	long long micros;
	int result;

	if (next == NULL)
		next = (int (*)(struct timeval *, void *)) dlsym(RTLD_NEXT, "gettimeofday");
	result = next(now, zone);
	micros = now->tv_sec * 1000000LL + now->tv_usec + ahead();
	now->tv_sec = (time_t) (micros / 1000000);
	now->tv_usec = (suseconds_t) (micros % 1000000);
	return result;
}

time_t time(time_t *seconds)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	if (seconds != NULL)
		*seconds = now.tv_sec;
	return now.tv_sec;
}
