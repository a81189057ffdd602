// SPDX-License-Identifier: MIT
/*
 * A scheduler that batches continuously, in C++: many requests through a pool that is too small
 * for all of them at once, several worker threads on the same pool, and what to do when it
 * is full.
 *
 *     c++ -std=c++17 -pthread scheduler.cc $(pkg-config --cflags --libs kvpool)
 *
 * Pool, Sequence and Batch own what their names say. Each worker is a client of its own. A step
 * of all its requests takes two calls: a batch that appends a token to each, and one that
 * says which rows were computed. When there is no room it lets its youngest request go, whose
 * prompt stays published, and begins it again when another one has ended.
 */
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <kvpool.h>

namespace {

constexpr char pool_uri[] = "inproc:scheduler?blocks=40&block_tokens=4&row_bytes=16";
constexpr unsigned workers = 3;
constexpr unsigned requests = 24;	/* of each worker */
constexpr unsigned at_once = 12;	/* of each worker */
constexpr uint32_t prompt_tokens = 18;
constexpr uint32_t new_tokens = 9;

using Space = uint8_t[KVP_DIGEST_LEN];

/* ---- owners ---- */

class Error : public std::runtime_error {
public:
	Error(const char *what, int err)
		: std::runtime_error(std::string(what) + ": " + kvp_error()->text), err(err)
	{
	}
	int err;
};

void must(int err, const char *what)
{
	if (err < 0)
		throw Error(what, err);
}

class Pool {
public:
	explicit Pool(const char *uri)
	{
		kvp_pool *opened;

		must(kvp_pool_open(uri, &opened), "open");
		pool.reset(opened);
	}
	operator kvp_pool *() const { return pool.get(); }

private:
	struct Close {
		void operator()(kvp_pool *p) const { kvp_pool_close(p); }
	};
	std::unique_ptr<kvp_pool, Close> pool;
};

class Sequence {
public:
	Sequence() = default;
	/* Throws an Error with -ENOSPC where there is no room now. */
	Sequence(kvp_pool *pool, const Space &space, const std::vector<uint32_t> &tokens)
		: pool(pool)
	{
		kvp_prompt prompt = {};

		prompt.space = space;
		prompt.tokens = tokens.data();
		prompt.nr_tokens = static_cast<uint32_t>(tokens.size());
		must(kvp_seq_create(pool, &prompt, 0, 0, &seq, &matched), "create");
	}
	Sequence(Sequence &&other) noexcept { *this = std::move(other); }
	Sequence &operator=(Sequence &&other) noexcept
	{
		std::swap(pool, other.pool);
		std::swap(seq, other.seq);
		std::swap(matched, other.matched);
		return *this;
	}
	~Sequence()
	{
		if (seq)
			kvp_seq_free(pool, seq);
	}
	kvp_seq_t id() const { return seq; }
	uint64_t known() const { return matched; }

private:
	kvp_pool *pool = nullptr;
	kvp_seq_t seq = 0;
	uint64_t matched = 0;
};

class Batch {
public:
	explicit Batch(kvp_pool *pool)
	{
		must(kvp_batch_new(pool, at_once, &batch), "batch");
	}
	Batch(const Batch &) = delete;
	Batch &operator=(const Batch &) = delete;
	~Batch() { kvp_batch_free(batch); }
	operator kvp_batch_buf *() const { return batch; }
	int result(size_t entry) const
	{
		kvp_batch_result result;

		must(kvp_batch_get(batch, static_cast<uint32_t>(entry), &result), "result");
		return result.err;
	}

private:
	kvp_batch_buf *batch = nullptr;
};

/* ---- the model: each row depends on the one before ---- */

struct Row {
	uint64_t word[2];

	Row after(uint32_t token) const
	{
		const uint64_t next = (word[0] ^ token) * 6364136223846793005u + 1;

		return { { next, next ^ word[1] } };
	}
	bool operator==(const Row &other) const
	{
		return word[0] == other.word[0] && word[1] == other.word[1];
	}
};

constexpr Row nothing = { { 1, 2 } };

/* ---- requests ---- */

struct Request {
	unsigned number;
	std::vector<uint32_t> tokens;
	Sequence seq;
	uint64_t computed = 0;
};

/* Four of five tokens of a prompt are those of a conversation that several requests share. */
Request make_request(unsigned worker, unsigned number)
{
	Request request;

	request.number = number;
	for (uint32_t i = 0; i < prompt_tokens; i++)
		request.tokens.push_back(i < prompt_tokens - 4 ?
					 1000 * (number % 6) + i :
					 100000 * (worker + 1) + 100 * number + i);
	return request;
}

struct Totals {
	unsigned finished = 0;
	unsigned let_go = 0;
	uint64_t prompt_rows = 0;	/* of all prompts that were begun */
	uint64_t known_rows = 0;	/* of these, found in the pool */
	uint64_t rows = 0;		/* read back at the end */
	uint64_t wrong = 0;
};

/* ---- the scheduler of one worker ---- */

class Worker {
public:
	Worker(unsigned number, const Space &space) : space(space), pool(pool_uri), batch(pool)
	{
		for (unsigned i = 0; i < requests; i++)
			waiting.push_back(make_request(number, i));
	}

	void run()
	{
		while (!waiting.empty() || !running.empty()) {
			admit();
			step();
		}
	}

	Totals totals;

private:
	/* Begin what fits. */
	void admit()
	{
		while (!hold_off && !waiting.empty() && running.size() < at_once) {
			Request &next = waiting.front();

			try {
				next.seq = Sequence(pool, space, next.tokens);
			} catch (const Error &error) {
				/* Full for now: the requests that run will end. */
				if (error.err != -ENOSPC)
					throw;
				if (running.empty())
					std::this_thread::yield();
				return;
			}
			totals.prompt_rows += next.tokens.size();
			totals.known_rows += next.seq.known();
			next.computed = next.seq.known();
			compute(next);
			must(kvp_seq_advance(pool, next.seq.id(), next.computed), "advance");
			must(kvp_publish(pool, next.seq.id(), nullptr), "publish");
			running.push_back(std::move(next));
			waiting.pop_front();
		}
	}

	/* Rows of all tokens that have none. */
	void compute(Request &request)
	{
		const uint64_t from = request.computed, end = request.tokens.size();
		std::vector<Row> rows;
		Row row = nothing;

		if (from == end)
			return;
		if (from)
			must(kvp_rows_read(pool, request.seq.id(), 0, from - 1, 1, &row), "read");
		for (uint64_t i = from; i < end; i++)
			rows.push_back(row = row.after(request.tokens[i]));
		must(kvp_rows_write(pool, request.seq.id(), 0, from, rows.size(), rows.data()),
		     "write");
		request.computed = end;
	}

	/* One token more for everybody. */
	void step()
	{
		std::vector<uint32_t> sampled(running.size());
		bool full = false;

		if (running.empty())
			return;
		for (size_t i = 0; i < running.size(); i++) {
			const Request &request = running[i];

			sampled[i] = static_cast<uint32_t>(7 * request.number +
							   request.tokens.size());
			must(kvp_batch_seq_append(batch, request.seq.id(), &sampled[i], 1, 0),
			     "add to the batch");
		}
		run_batch(true);
		for (size_t i = 0; i < running.size(); i++) {
			if (batch.result(i))
				full = true;
			else
				running[i].tokens.push_back(sampled[i]);
			compute(running[i]);
		}
		/* A sequence that did not grow is computed already: to say so again is no error. */
		for (const Request &request : running)
			must(kvp_batch_seq_advance(batch, request.seq.id(), request.computed),
			     "add to the batch");
		run_batch(false);
		finish();
		if (full)
			let_go();
	}

	/* That an entry found no room is no error where the caller looks at each of them. */
	void run_batch(bool may_be_full)
	{
		const int err = kvp_batch_run(batch, 0);

		if (err && !(may_be_full && err == -ENOSPC))
			throw Error("batch", err);
	}

	void finish()
	{
		std::deque<Request> rest;

		for (Request &request : running) {
			if (request.tokens.size() < prompt_tokens + new_tokens) {
				rest.push_back(std::move(request));
				continue;
			}
			check(request);
			totals.finished++;
		}
		hold_off = hold_off && rest.size() == running.size();
		running.swap(rest);
	}

	/* The youngest request goes back to the queue: what it holds is free or idle now. */
	void let_go()
	{
		if (running.empty())
			return;
		Request victim = std::move(running.back());

		running.pop_back();
		victim.seq = Sequence();
		victim.computed = 0;
		waiting.push_front(std::move(victim));
		totals.let_go++;
		hold_off = !running.empty();
	}

	void check(const Request &request)
	{
		std::vector<Row> rows(request.tokens.size());
		Row row = nothing;

		must(kvp_rows_read(pool, request.seq.id(), 0, 0, rows.size(), rows.data()), "read");
		for (size_t i = 0; i < rows.size(); i++) {
			row = row.after(request.tokens[i]);
			totals.wrong += !(row == rows[i]);
		}
		totals.rows += rows.size();
	}

	const Space &space;
	Pool pool;
	Batch batch;
	std::deque<Request> waiting, running;
	bool hold_off = false;		/* begin none until one ends */
};

/* ---- */

int run()
{
	kvp_identity identity = {};
	Space space;
	uint64_t findings;
	bool good = true;

	identity.model = "example";
	must(kvp_identity_digest(&identity, space), "identity");
	Pool pool(pool_uri);

	/* One worker alone: the same numbers every time. */
	{
		Worker alone(0, space);

		alone.run();
		const Totals &t = alone.totals;

		std::printf("one worker: %u requests finished, %u let go and begun again\n",
			    t.finished, t.let_go);
		std::printf("  prompts: %llu rows, %llu of them found in the pool\n",
			    static_cast<unsigned long long>(t.prompt_rows),
			    static_cast<unsigned long long>(t.known_rows));
		std::printf("  %llu rows read back, %llu wrong\n",
			    static_cast<unsigned long long>(t.rows),
			    static_cast<unsigned long long>(t.wrong));
		good = good && !t.wrong;
	}

	/* Several at once. Who finds the pool full depends on the moment, results do not. */
	std::vector<std::unique_ptr<Worker>> all;
	std::vector<std::thread> threads;
	Totals sum;

	for (unsigned i = 0; i < workers; i++)
		all.push_back(std::make_unique<Worker>(i, space));
	for (auto &worker : all)
		threads.emplace_back([&worker] { worker->run(); });
	for (auto &thread : threads)
		thread.join();
	for (auto &worker : all) {
		sum.finished += worker->totals.finished;
		sum.rows += worker->totals.rows;
		sum.wrong += worker->totals.wrong;
	}
	all.clear();
	std::printf("%u workers: %u requests finished\n", workers, sum.finished);
	std::printf("  %llu rows read back, %llu wrong\n",
		    static_cast<unsigned long long>(sum.rows),
		    static_cast<unsigned long long>(sum.wrong));

	must(kvp_pool_audit(pool, nullptr, 0, &findings), "audit");
	std::printf("audit: %llu findings\n", static_cast<unsigned long long>(findings));
	return good && !sum.wrong && !findings ? 0 : 1;
}

} /* namespace */

int main()
{
	try {
		return run();
	} catch (const std::exception &error) {
		std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
}
