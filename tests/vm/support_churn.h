/* SPDX-License-Identifier: MIT */
/*
 * A client that works on a pool at random, until it is told to stop or is killed. What it holds
 * it marks in memory that all processes share, as an engine writes rows, so that a block
 * that is given to two of them, or a prefix that is another's, is seen.
 *
 * Some of what it holds it lets go while work goes on that may touch it. Until it says that this
 * work has ended, the marks must stay; it reports them, so that they are looked at also when it
 * was killed before.
 *
 * Prefixes are documents of a fixed set: CHURN_NODES nodes each, of which groups of CHURN_GROUP
 * documents have the first CHURN_COMMON in common. Who publishes document d gives the tag d + 1.
 */
#ifndef KVPV_CHURN_H
#define KVPV_CHURN_H

#include "support.h"

#define CHURN_NODE	4		/* tokens of a node, and of a block of either family */
#define CHURN_NODES	8
#define CHURN_COMMON	4
#define CHURN_GROUP	4
#define CHURN_DOCS	96
#define CHURN_TOKENS	(CHURN_NODES * CHURN_NODE)
#define CHURN_WINDOW	8
#define CHURN_SPACE	7
#define CHURN_FAMILIES	2
#define CHURN_MAX_BLOCKS 2048		/* a family */
#define CHURN_WORKERS	8
#define CHURN_WORKS	3		/* pieces of work of a client */
#define CHURN_TOUCHED	(CHURN_FAMILIES * CHURN_NODES)
#define CHURN_GRACE_MS	300

/* How a client makes its calls, and what else there is of it when it is killed. */
enum churn_way {
	CHURN_IOCTL,		/* nothing else */
	CHURN_BATCH,		/* in batches */
	CHURN_RING,		/* through a ring, in its workers */
	CHURN_EXEC,		/* it has executed a program since */
	CHURN_FIXED,		/* only a ring has its file */
	CHURN_CHILD,		/* a child has its descriptor */
	CHURN_SOCKET,		/* a copy lies in a socket */
	CHURN_WAYS,
};

extern const char *const churn_way_name[CHURN_WAYS];

/**
 * struct churn_work - what work that is open may touch
 * @nr: blocks, 0: none; written last when it begins, first when it ends
 * @block: their ids
 * @mark: what the client wrote there
 */
struct churn_work {
	u32 nr;
	u64 block[CHURN_TOUCHED];
	u64 mark[CHURN_TOUCHED];
};

/**
 * struct churn_worker - what a client reports
 * @client: its id, 0 before it is attached
 * @before: EXEC: the id it had before
 * @bursts: calls made together, so often
 * @in_flight: of these calls, those given to the kernel and not yet returned
 * @child: CHILD: the pid of the child
 * @told: CHILD: the child is to call on the client
 * @answer: CHILD: what that call said: -errno << 16 | reason
 * @published: by document: it was published
 * @work: see there
 */
struct churn_worker {
	u64 client;
	u64 before;
	u32 bursts;
	u32 in_flight;
	u32 child;
	u32 told;
	u32 answer;
	u8 published[CHURN_DOCS];
	struct churn_work work[CHURN_WORKS];
};

/**
 * struct churn - shared by all processes; its fields are read and written atomically
 * @pool: name, constant
 * @game: process that began it, constant
 * @socket: SOCKET: two ends, which the parent keeps
 * @stop: clients are to exit
 * @worker: by place
 * @mark: by family and index of the block: what its holder wrote
 */
struct churn {
	char pool[KVP_NAME_LEN];
	u32 game;
	int socket[2];
	u32 stop;
	struct churn_worker worker[CHURN_WORKERS];
	u64 mark[CHURN_FAMILIES][CHURN_MAX_BLOCKS];
};

#define churn_get(field)	__atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define churn_set(field, value)	__atomic_store_n(&(field), (value), __ATOMIC_RELEASE)

/* Contents of node @node of document @doc, and its token ids. */
u64 churn_content(u32 doc, u32 node);
void churn_tokens(u32 doc, u32 tokens[CHURN_TOKENS]);

/* Memory for a struct churn, and the descriptor by which a program that is executed finds it. */
struct churn *churn_new(int *fd);
/* A pool for churn with so many blocks a family, persistent. */
int churn_pool(struct churn *churn, const char *name, u32 blocks);

/* The calling process is client @place until it is told to stop; exits. */
void churn_run(struct churn *churn, int fd, u32 place, enum churn_way way, u64 seed)
	__attribute__((noreturn));
/* What main() does first: if this program was executed by such a client, go on as it. */
void churn_resume(int argc, char **argv);

#endif /* KVPV_CHURN_H */
