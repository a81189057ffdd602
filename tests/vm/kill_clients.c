// SPDX-License-Identifier: MIT
/*
 * The kill test: eight clients work at random on one pool, and one of them is killed with SIGKILL
 * at a random moment, again and again, in each of several ways. Each time the audit is
 * clean, what its work may touch is nobody's until the grace time is over, nothing of the dead
 * client is left then, and what it had published still matches: all of it in a pool that is large
 * enough, and nothing wrong in one that must reclaim.
 *
 *	kill_clients [--rounds N] [--seed N]
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support_churn.h"

#define ROOMY	2048			/* blocks a family: nothing is ever reclaimed */
#define TIGHT	160
#define MIN_BURSTS 20			/* of a client, before it is killed */
#define SPIN_MS	200			/* to wait for calls in flight */
#define MAX_IDS	(1 << 16)		/* of clients, in one pool */

/**
 * struct game - all of one run
 * @churn: shared with the clients
 * @churn_fd: its memory
 * @fd: the parent's client
 * @pool: id of the pool
 * @random: state
 * @roomy: nothing may be reclaimed
 * @pid: of the clients
 * @way: of the clients
 * @cursor: of the events read
 * @lost: events that were overwritten before they were read
 * @left: by id of a client: an event told that it left
 * @killed: by way
 * @caught: by way, of these with calls in flight
 * @died_ms: a moment not after the last death
 * @quarantined: clients killed whose work was open
 * @guarded: blocks of theirs that were looked at before the grace time was over
 * @matched: published prefixes that were looked up after a death
 * @slowest_ms: that a dead client took to be gone
 */
struct game {
	struct churn *churn;
	int churn_fd;
	int fd;
	u64 pool;
	u64 random;
	bool roomy;
	pid_t pid[CHURN_WORKERS];
	enum churn_way way[CHURN_WORKERS];
	u64 cursor;
	u64 lost;
	u8 left[MAX_IDS];
	u32 killed[CHURN_WAYS];
	u32 caught[CHURN_WAYS];
	u64 died_ms;
	u32 quarantined;
	u64 guarded;
	u64 matched;
	u64 slowest_ms;
};

/* ---- clients come and go ---- */

static void spawn(struct game *game, u32 place, enum churn_way way)
{
	u64 seed = kvpv_random(&game->random);
	pid_t pid;

	memset(&game->churn->worker[place], 0, sizeof(game->churn->worker[place]));
	fflush(stdout);
	pid = kvpv_sys(fork());
	if (!pid) {
		close(game->fd);
		churn_run(game->churn, game->churn_fd, place, way, seed);
	}
	game->pid[place] = pid;
	game->way[place] = way;
}

/* Nobody has ended by himself, as a client does that finds a fault. */
static void expect_alive(struct game *game)
{
	int status;
	u32 i;

	for (i = 0; i < CHURN_WORKERS; i++)
		if (game->pid[i] && kvpv_sys(waitpid(game->pid[i], &status, WNOHANG)))
			kvpv_fail("client %u (%s) ended with status 0x%x", i,
				  churn_way_name[game->way[i]], status);
}

static bool at_work(struct game *game, u32 place)
{
	struct churn_worker *worker = &game->churn->worker[place];

	expect_alive(game);
	return churn_get(worker->bursts) >= MIN_BURSTS &&
	       (game->way[place] != CHURN_EXEC || churn_get(worker->before)) &&
	       (game->way[place] != CHURN_CHILD || churn_get(worker->child));
}

/* At a random moment; of those who make several calls at once, while these are on their way. */
static void kill_one(struct game *game, u32 place)
{
	struct churn_worker *worker = &game->churn->worker[place];
	enum churn_way way = game->way[place];
	u64 begin;

	kvpv_until(KVPV_WAIT_MS, at_work(game, place));
	usleep(kvpv_below(&game->random, 20000));
	begin = kvpv_now_ms();
	while (!churn_get(worker->in_flight) && kvpv_now_ms() - begin < SPIN_MS)
		;
	game->died_ms = kvpv_now_ms();
	kvpv_kill(game->pid[place]);
	game->pid[place] = 0;
	game->killed[way]++;
	game->caught[way] += churn_get(worker->in_flight) != 0;
}

/* ---- what is left of it ---- */

/* Read the events there are; whether one ever told that the client has left. */
static bool event_left(struct game *game, u64 client)
{
	struct kvp_event events[64];
	struct kvp_events arg = {
		.events = kvpv_ptr(events),
		.cursor = game->cursor,
	};
	u32 i;

	do {
		arg.nr_events = KVPV_COUNT(events);
		kvpv_ok(kvpv_do(game->fd, KVP_OP_EVENTS, &arg));
		game->lost += arg.lost;
		for (i = 0; i < arg.nr_events; i++) {
			if (events[i].kind != KVP_EVENT_LEFT)
				continue;
			kvpv_true(events[i].client < MAX_IDS);
			/* Nobody leaves twice. */
			kvpv_same(game->left[events[i].client], 0);
			game->left[events[i].client] = 1;
		}
	} while (arg.pending);
	game->cursor = arg.cursor;
	/* A reader that fell behind cannot know. */
	return game->left[client] || game->lost;
}

/* Blocks may still be charged to it, but only what others found published and hold. */
static void expect_not_charged(struct game *game, u64 client)
{
	static struct kvp_block_entry entries[CHURN_MAX_BLOCKS];
	u32 family, nr, i;

	for (family = 0; family < CHURN_FAMILIES; family++) {
		nr = kvpv_dump(game->fd, family, entries, KVPV_COUNT(entries));
		for (i = 0; i < nr; i++) {
			if (entries[i].client != client)
				continue;
			if (entries[i].state != KVP_BLOCK_HELD || entries[i].node == KVP_NODE_NONE)
				kvpv_fail("block 0x%llx of client %llu, dead: state %u, count %u",
					  entries[i].block, (unsigned long long)client,
					  entries[i].state, entries[i].count);
		}
	}
}

/* What open work may touch is as it was left, whatever was asked of the pool since. */
static void expect_guarded(struct game *game, const struct churn_work *work, u32 nr)
{
	struct kvp_block_entry entry;
	u64 mark;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (work->block[i] == KVP_BLOCK_NULL)
			continue;
		entry = kvpv_block(game->fd, work->block[i]);
		mark = churn_get(game->churn->mark[KVP_BLOCK_FAMILY(work->block[i])]
						  [KVP_BLOCK_INDEX(work->block[i])]);
		if (kvpv_now_ms() - game->died_ms >= CHURN_GRACE_MS)
			return;
		kvpv_same(entry.block, work->block[i]);
		kvpv_true(entry.state == KVP_BLOCK_HELD || entry.state == KVP_BLOCK_HELD_BACK);
		kvpv_same(mark, work->mark[i]);
		game->guarded++;
	}
}

/* Whether work was open; then the client is not gone before the grace time is over. */
static bool expect_quarantine(struct game *game, struct churn_worker *worker)
{
	bool open = false;
	u32 i, nr;

	for (i = 0; i < CHURN_WORKS; i++) {
		nr = churn_get(worker->work[i].nr);
		expect_guarded(game, &worker->work[i], nr);
		open |= nr;
	}
	game->quarantined += open;
	return open;
}

static void expect_gone(struct game *game, u64 client)
{
	static const char *const kinds[] = { "file", "export", "quarantine" };
	struct kvp_stats stats;
	char line[96];
	char *text;
	u64 took;
	u32 i;

	took = kvpv_until(KVPV_WAIT_MS, kvpv_client_gone(game->fd, client));
	if (took > game->slowest_ms)
		game->slowest_ms = took;
	kvpv_expect(kvpv_stats(game->fd, client, 0, &stats, NULL, 0), -ENOENT,
		    KVP_REASON_NO_CLIENT);
	expect_not_charged(game, client);
	kvpv_until(KVPV_WAIT_MS, event_left(game, client));
	text = kvpv_debugfs_text();
	for (i = 0; i < KVPV_COUNT(kinds); i++) {
		snprintf(line, sizeof(line), "pool=%llu client=%llu kind=%s ",
			 (unsigned long long)game->pool, (unsigned long long)client, kinds[i]);
		if (strstr(text, line))
			kvpv_fail("debugfs still has \"%s\"", line);
	}
	snprintf(line, sizeof(line), "pool=%llu client=%llu kind=file ",
		 (unsigned long long)game->pool, (unsigned long long)kvpv_self(game->fd));
	kvpv_true(strstr(text, line));
	free(text);
}

/* The prefix of a document: right as far as it goes, and @whole: to its end. */
static void expect_match(struct game *game, u32 doc, bool whole)
{
	u32 tokens[CHURN_TOKENS];
	u64 blocks[CHURN_NODES];
	u64 matched, match;
	u32 node;

	churn_tokens(doc, tokens);
	kvpv_ok(kvpv_match(game->fd, CHURN_SPACE, tokens, CHURN_TOKENS, 0, blocks, CHURN_NODES,
			   &matched, &match));
	if (whole)
		kvpv_same(matched, CHURN_TOKENS);
	for (node = 0; node < matched / CHURN_NODE; node++) {
		u64 content = churn_content(doc, node);
		struct kvp_block_entry entry;
		struct kvp_block_dump dump = {
			.entries = kvpv_ptr(&entry),
			.nr_entries = 1,
			.cursor = KVP_BLOCK_INDEX(blocks[node]),
		};

		kvpv_ok(kvpv_do(game->fd, KVP_OP_BLOCK_DUMP, &dump));
		kvpv_same(entry.block, blocks[node]);
		kvpv_same(entry.depth, node + 1);
		kvpv_true(entry.tag && entry.tag <= CHURN_DOCS);
		kvpv_same(churn_content(entry.tag - 1, node), content);
		kvpv_same(churn_get(game->churn->mark[0][KVP_BLOCK_INDEX(blocks[node])]), content);
	}
	if (match)
		kvpv_ok(kvpv_release(game->fd, match));
	game->matched++;
}

static void expect_dead(int fd)
{
	struct kvp_stats stats;

	kvpv_expect(kvpv_stats(fd, KVP_STATS_SELF, 0, &stats, NULL, 0), -EOWNERDEAD,
		    KVP_REASON_CLIENT_DEAD);
}

/* Who still has the descriptor has nothing of the client. */
static void expect_copy_dead(struct game *game, u32 place)
{
	struct churn_worker *worker = &game->churn->worker[place];
	int fd;

	if (game->way[place] == CHURN_CHILD) {
		churn_set(worker->told, 1);
		kvpv_until(KVPV_WAIT_MS, churn_get(worker->answer));
		kvpv_same(worker->answer, EOWNERDEAD << 16 | KVP_REASON_CLIENT_DEAD);
		kvpv_sys(kill((pid_t)worker->child, SIGKILL));
	} else if (game->way[place] == CHURN_SOCKET) {
		fd = kvpv_recv_fd(game->churn->socket[1]);
		expect_dead(fd);
		close(fd);
	}
}

static void play(struct game *game, u32 round, enum churn_way way)
{
	struct churn_worker *worker;
	u32 place, doc;
	bool open;

	/* The ways are those of the first places; the last one is killed for its way, too. */
	place = way == game->way[CHURN_WORKERS - 1] && kvpv_below(&game->random, 2) ?
		CHURN_WORKERS - 1 : (u32)way;
	worker = &game->churn->worker[place];
	kill_one(game, place);
	open = expect_quarantine(game, worker);
	kvpv_audit(game->fd);
	expect_gone(game, worker->client);
	if (open)
		kvpv_true(kvpv_now_ms() - game->died_ms >= CHURN_GRACE_MS);
	if (worker->before)
		expect_gone(game, worker->before);
	kvpv_audit(game->fd);
	for (doc = 0; doc < CHURN_DOCS; doc++)
		if (worker->published[doc])
			expect_match(game, doc, game->roomy);
	expect_copy_dead(game, place);
	expect_alive(game);
	printf("round %u: %s, client %llu after %u bursts: clean\n", round, churn_way_name[way],
	       (unsigned long long)worker->client, worker->bursts);
	spawn(game, place, way);
}

/* ---- a pool's life ---- */

static void begin(struct game *game, bool roomy)
{
	struct kvp_pool_info info = {};
	u32 i;

	game->roomy = roomy;
	game->cursor = 0;
	game->lost = 0;
	memset(game->left, 0, sizeof(game->left));
	memset(game->churn, 0, sizeof(*game->churn));
	game->churn->game = (u32)getpid();
	kvpv_sys(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, game->churn->socket));
	game->fd = churn_pool(game->churn, roomy ? "roomy" : "tight", roomy ? ROOMY : TIGHT);
	kvpv_ok(kvpv_do(game->fd, KVP_OP_POOL_INFO, &info));
	game->pool = info.pool;
	event_left(game, 0);
	for (i = 0; i < CHURN_WORKERS; i++)
		spawn(game, i, i < CHURN_WAYS ? (enum churn_way)i : CHURN_BATCH);
}

static void drop_children(struct game *game)
{
	u32 i;

	for (i = 0; i < CHURN_WORKERS; i++)
		if (game->churn->worker[i].child)
			kill((pid_t)game->churn->worker[i].child, SIGKILL);
}

static void expect_empty(struct game *game)
{
	struct kvp_family_stats families[CHURN_FAMILIES];
	struct kvp_client_entry entries[4 * CHURN_WORKERS];
	struct kvp_stats stats;
	u32 i;

	/* The others had open work, too. */
	kvpv_until(KVPV_WAIT_MS, kvpv_clients(game->fd, entries, KVPV_COUNT(entries)) == 1);
	kvpv_ok(kvpv_stats(game->fd, 0, 0, &stats, families, CHURN_FAMILIES));
	kvpv_same(stats.nr_clients, 1);
	kvpv_same(stats.seqs, 0);
	kvpv_same(stats.slots, 0);
	kvpv_same(stats.raw, 0);
	kvpv_same(stats.matches, 0);
	kvpv_same(stats.exports, 0);
	kvpv_same(stats.zombies, 0);
	kvpv_same(stats.uses, 0);
	kvpv_same(stats.tickets, 0);
	kvpv_same(stats.quarantined, 0);
	kvpv_same(stats.backwards, 0);
	kvpv_same(stats.jumps, 0);
	kvpv_true(stats.tickets_granted || game->roomy);
	kvpv_same(stats.underflow_rejected, 0);
	kvpv_same(stats.collisions, 0);
	if (game->roomy)
		kvpv_same(stats.reclaimed_blocks, 0);
	else
		kvpv_true(stats.reclaimed_blocks);
	for (i = 0; i < CHURN_FAMILIES; i++) {
		kvpv_same(families[i].charged, 0);
		kvpv_same(families[i].state[KVP_BLOCK_FREE] + families[i].state[KVP_BLOCK_IDLE],
			  families[i].total);
	}
	kvpv_audit(game->fd);
}

/* The others end by themselves, holding what they hold; the pool outlives all. */
static void end(struct game *game)
{
	u32 i;

	churn_set(game->churn->stop, 1);
	for (i = 0; i < CHURN_WORKERS; i++)
		kvpv_wait_done(game->pid[i]);
	drop_children(game);
	expect_empty(game);
	close(game->fd);
	game->fd = kvpv_join(game->churn->pool);
	expect_empty(game);
	kvpv_true(kvpv_module_uses());
	kvpv_ok(kvpv_destroy(game->fd, game->churn->pool, 0));
	close(game->fd);
	close(game->churn->socket[0]);
	close(game->churn->socket[1]);
	printf("%s: destroyed, the module is free after %llu ms\n", game->churn->pool,
	       (unsigned long long)kvpv_until(KVPV_WAIT_MS, !kvpv_module_uses()));
}

static void report(const struct game *game, u32 rounds)
{
	u32 way;

	for (way = 0; way < CHURN_WAYS; way++) {
		printf("%-10s killed %3u times, %3u with calls in flight\n", churn_way_name[way],
		       game->killed[way], game->caught[way]);
		if (rounds >= 2 * CHURN_WAYS)
			kvpv_true(game->killed[way] >= 2);
	}
	if (rounds >= 2 * CHURN_WAYS)
		kvpv_true(game->caught[CHURN_BATCH] && game->caught[CHURN_RING] &&
			  game->caught[CHURN_FIXED]);
	printf("%u killed with open work; %llu blocks of it looked at in their quarantine\n",
	       game->quarantined, (unsigned long long)game->guarded);
	if (rounds >= 2 * CHURN_WAYS)
		kvpv_true(game->quarantined && game->guarded);
	printf("%u killed; %llu published prefixes looked up; gone after %llu ms at most\n", rounds,
	       (unsigned long long)game->matched, (unsigned long long)game->slowest_ms);
	kvpv_true(game->matched);
}

int main(int argc, char **argv)
{
	static struct game game;
	u32 rounds = 20, round;
	u64 seed = 1;
	int i;

	churn_resume(argc, argv);
	setlinebuf(stdout);
	for (i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--rounds"))
			rounds = strtoul(argv[i + 1], NULL, 10);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else
			break;
	}
	if (i != argc || !rounds) {
		fprintf(stderr, "usage: kill_clients [--rounds N] [--seed N]\n");
		return 2;
	}
	printf("seed %llu, %u rounds\n", (unsigned long long)seed, rounds);
	game.random = seed;
	game.churn = churn_new(&game.churn_fd);
	for (round = 0; round < rounds; round++) {
		if (!round || round == rounds / 2)
			begin(&game, !round && rounds > 1);
		play(&game, round, (enum churn_way)(round % CHURN_WAYS));
		if (round + 1 == rounds / 2 || round + 1 == rounds)
			end(&game);
	}
	report(&game, rounds);
	return 0;
}
