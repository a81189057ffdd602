// SPDX-License-Identifier: MIT
/*
 * The twins of the kernel's headers: that a broken locking rule and a bug of ours
 * really end a test, that allocations fail where the kernel's do, and the few
 * functions that are not the C library's.
 */
#include <check.h>
#include <signal.h>

#include "seam.h"

static spinlock_t spin;
static struct mutex mutex;
static struct rw_semaphore rwsem;

static void setup(void)
{
	spin_lock_init(&spin);
	mutex_init(&mutex);
	init_rwsem(&rwsem);
	kvp_shim_fail_alloc = 0;
	/* A sanitizer may have taken the signal to print where it came from. */
	signal(SIGABRT, SIG_DFL);
}

START_TEST(locks_that_are_held_are_known)
{
	down_read(&rwsem);
	mutex_lock(&mutex);
	spin_lock(&spin);
	lockdep_assert_held(&rwsem);
	lockdep_assert_held(&mutex);
	lockdep_assert_held(&spin);
	spin_unlock(&spin);
	mutex_unlock(&mutex);
	up_read(&rwsem);
	down_write(&rwsem);
	lockdep_assert_held_write(&rwsem);
	up_write(&rwsem);
}
END_TEST

/* Each of these must end the process. */

START_TEST(a_lock_that_is_not_held_is_noticed)
{
	lockdep_assert_held(&spin);
}
END_TEST

START_TEST(a_lock_held_for_reading_is_not_held_for_writing)
{
	down_read(&rwsem);
	lockdep_assert_held_write(&rwsem);
}
END_TEST

START_TEST(taking_a_lock_twice_is_noticed)
{
	spin_lock(&spin);
	spin_lock(&spin);
}
END_TEST

START_TEST(letting_go_of_a_lock_not_held_is_noticed)
{
	mutex_lock(&mutex);
	mutex_unlock(&mutex);
	mutex_unlock(&mutex);
}
END_TEST

START_TEST(allocating_under_a_spinlock_is_noticed)
{
	spin_lock(&spin);
	kfree(kmalloc(1, GFP_KERNEL));
}
END_TEST

START_TEST(sleeping_under_a_spinlock_is_noticed)
{
	spin_lock(&spin);
	cond_resched();
}
END_TEST

START_TEST(taking_a_mutex_under_a_spinlock_is_noticed)
{
	spin_lock(&spin);
	mutex_lock(&mutex);
}
END_TEST

START_TEST(a_bug_of_ours_ends_a_test)
{
	WARN_ON_ONCE(kvp_shim_fail_alloc == 0);
}
END_TEST

START_TEST(an_absurd_size_is_a_bug_of_ours)
{
	kvmalloc((size_t)INT_MAX + 1, GFP_KERNEL);
}
END_TEST

START_TEST(the_nth_allocation_fails_once)
{
	void *mem[4];
	u32 i;

	kvp_shim_fail_alloc = 3;
	for (i = 0; i < ARRAY_SIZE(mem); i++)
		mem[i] = i % 2 ? kvzalloc(8, GFP_KERNEL) : kmalloc(8, GFP_KERNEL);
	ck_assert_ptr_nonnull(mem[0]);
	ck_assert_ptr_nonnull(mem[1]);
	ck_assert_ptr_null(mem[2]);
	ck_assert_ptr_nonnull(mem[3]);
	ck_assert_int_eq(kvp_shim_fail_alloc, 0);
	for (i = 0; i < ARRAY_SIZE(mem); i++)
		kvfree(mem[i]);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
	u32 small;

	ck_assert_ptr_null(kvmalloc_array(SIZE_MAX / 2, 3, GFP_KERNEL));
	ck_assert_ptr_null(kcalloc(SIZE_MAX / 2, 3, GFP_KERNEL));
	ck_assert_ptr_null(__vmalloc(SIZE_MAX / 2, GFP_KERNEL | __GFP_NOWARN));
	ck_assert_ptr_null(kvmalloc((size_t)INT_MAX + 1, GFP_KERNEL | __GFP_NOWARN));
	ck_assert(check_add_overflow(U32_MAX, 1U, &small));
	ck_assert(!check_mul_overflow(3U, 5U, &small));
	ck_assert_uint_eq(small, 15);
}
END_TEST

START_TEST(no_bytes_are_no_failure)
{
	void *mem = kvmalloc(0, GFP_KERNEL);

	ck_assert_ptr_eq(mem, ZERO_SIZE_PTR);
	kvfree(mem);
}
END_TEST

START_TEST(strings_and_bytes)
{
	char text[4];

	ck_assert_int_eq(strscpy(text, "abc", sizeof(text)), 3);
	ck_assert_str_eq(text, "abc");
	ck_assert_int_eq(strscpy(text, "wxyz", sizeof(text)), -E2BIG);
	ck_assert_str_eq(text, "wxy");
	ck_assert_int_eq(strscpy(text, "a", 0), -E2BIG);
	ck_assert_str_eq(text, "wxy");
	ck_assert_ptr_null(memchr_inv("aaaa", 'a', 4));
	ck_assert_ptr_eq(memchr_inv(text, 'w', 3), text + 1);
}
END_TEST

START_TEST(arithmetic)
{
	ck_assert_uint_eq(gcd(12, 18), 6);
	ck_assert_uint_eq(gcd(7, 0), 7);
	ck_assert_uint_eq(roundup_pow_of_two(1), 1);
	ck_assert_uint_eq(roundup_pow_of_two(17), 32);
	ck_assert_uint_eq(roundup_pow_of_two(32), 32);
	ck_assert(is_power_of_2(64));
	ck_assert(!is_power_of_2(0));
	ck_assert(!is_power_of_2(65));
	ck_assert_int_eq(ilog2(1), 0);
	ck_assert_int_eq(ilog2(65), 6);
}
END_TEST

START_TEST(lists)
{
	struct item {
		struct list_head list;
		int nr;
	} items[3] = { { .nr = 0 }, { .nr = 1 }, { .nr = 2 } }, *item, *next;
	LIST_HEAD(head);
	int sum = 0;

	ck_assert(list_empty(&head));
	list_add_tail(&items[1].list, &head);
	list_add_tail(&items[2].list, &head);
	list_add(&items[0].list, &head);
	ck_assert_int_eq(list_first_entry(&head, struct item, list)->nr, 0);
	list_for_each_entry(item, &head, list)
		sum = sum * 10 + item->nr;
	ck_assert_int_eq(sum, 12);
	list_for_each_entry_safe(item, next, &head, list)
		list_del(&item->list);
	ck_assert(list_empty(&head));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shim");
	TCase *fatal = tcase_create("ends the process");
	TCase *plain = tcase_create("plain");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(fatal, setup, NULL);
	tcase_add_test_raise_signal(fatal, a_lock_that_is_not_held_is_noticed, SIGABRT);
	tcase_add_test_raise_signal(fatal, a_lock_held_for_reading_is_not_held_for_writing,
				    SIGABRT);
	tcase_add_test_raise_signal(fatal, taking_a_lock_twice_is_noticed, SIGABRT);
	tcase_add_test_raise_signal(fatal, letting_go_of_a_lock_not_held_is_noticed, SIGABRT);
	tcase_add_test_raise_signal(fatal, allocating_under_a_spinlock_is_noticed, SIGABRT);
	tcase_add_test_raise_signal(fatal, sleeping_under_a_spinlock_is_noticed, SIGABRT);
	tcase_add_test_raise_signal(fatal, taking_a_mutex_under_a_spinlock_is_noticed,
				    SIGABRT);
	tcase_add_test_raise_signal(fatal, a_bug_of_ours_ends_a_test, SIGABRT);
	tcase_add_test_raise_signal(fatal, an_absurd_size_is_a_bug_of_ours, SIGABRT);
	suite_add_tcase(suite, fatal);

	tcase_add_checked_fixture(plain, setup, NULL);
	tcase_add_test(plain, locks_that_are_held_are_known);
	tcase_add_test(plain, the_nth_allocation_fails_once);
	tcase_add_test(plain, sizes_that_overflow_are_refused);
	tcase_add_test(plain, no_bytes_are_no_failure);
	tcase_add_test(plain, strings_and_bytes);
	tcase_add_test(plain, arithmetic);
	tcase_add_test(plain, lists);
	suite_add_tcase(suite, plain);

	/* What must end the process needs one of its own. */
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
