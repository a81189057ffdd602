/* SPDX-License-Identifier: MIT */
/*
 * Between the two halves of the sweep in process: one sees the core, and the other what a program
 * of the device sees. Their integer types cannot meet, so there are only C's own here.
 */
#ifndef KVP_FAILNTH_INPROC_H
#define KVP_FAILNTH_INPROC_H

#define FNI_FIRST_EXPORT	1000	/* descriptors of exports begin here (exportdoor.c) */

/* What failed. */
enum {
	FNI_NONE,
	FNI_ALLOC,
	FNI_READ,
	FNI_WRITE,
	FNI_PUT,
};

void fni_begin(void);
int fni_open(unsigned int uid);
void fni_close(int fd);
void fni_close_file(int fd);
/* With allocation number @fail_alloc failing, or copy number @copy; 0: none. *@what: FNI_* */
int fni_call(int fd, unsigned int op, void *arg, int fail_alloc, int copy, int *what);
void fni_resources(char text[64]);
void fni_end(void);
/* Of the operation in the core's table, or NULL: there is none of that number. */
const char *fni_op_name(unsigned int nr);

#endif /* KVP_FAILNTH_INPROC_H */
