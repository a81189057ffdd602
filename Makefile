# SPDX-License-Identifier: MIT
# Every command a person needs; `make help` lists them. All that is made lies
# under build/.
#
# The same sources are compiled several times: release is what users get; asan,
# tsan, fuzz, fast (for long tests) and holds check locks and end at a bug of ours, the
# first three under sanitizers; broken has one comparison taken out, and nofence
# what keeps a block from changing hands, to show that the tests would notice.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -ec
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules --no-print-directory

JOBS ?= $(shell nproc)
T ?= 60
SEED ?= 1
CC = gcc
CLANG ?= clang

B := build

# ---- sources -----------------------------------------------------------------

LIB_SRC := $(wildcard kmod/core/*.c runtime/*.c runtime/shim/*.c kernels/cpu/*.c)
KVCTL_SRC := $(wildcard tools/kvctl/*.c)
SUPPORT_SRC := $(wildcard tests/support/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
PROPERTY_SRC := $(wildcard tests/property/*.c)
MODEL_SRC := $(wildcard tests/model/*.c)
THREADS_SRC := $(wildcard tests/threads/*.c)
STAMPS_SRC := $(wildcard tests/stamps/*.c)
FUZZ_SRC := $(wildcard tests/fuzz/*.c)
HOLDS_SRC := tests/holds/count.c tests/holds/names.c
CLI_TESTS := $(wildcard tests/cli/*.sh)

# ---- how they are compiled ---------------------------------------------------

WARN := -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wstrict-prototypes -Wold-style-definition -Wvla
CFLAGS_ALL := -std=gnu11 -D_GNU_SOURCE= -g -fno-omit-frame-pointer -pthread $(WARN)

# The twins of the kernel's headers come first, and only where the core is seen.
INC_CORE := -Iruntime/shim -Iuapi -Ikmod/core
INC_API := -Iuapi -Iruntime/include
INC_BYTES := $(INC_API) -Ikernels
INC_CONTRACT := -Iuapi -Itests/support -Itests/layout
INC_TESTS := $(INC_CORE) -Iruntime/include -Iruntime -Ikernels -Itests/support -Itests/property -Itests/stamps \
	-Itests/model
INC_MODEL := $(INC_API) -Itests/model -Itests/support
INC_MALFORMED = -Itests/contract -I$(B)/malformed
inc = $(if $(filter kmod/% runtime/shim/% runtime/door_inproc.c,$(1)),$(INC_CORE),\
	$(if $(filter runtime/% kernels/%,$(1)),$(INC_BYTES),\
	$(if $(filter tests/vm/%,$(1)),$(INC_API) -Itests/vm,\
	$(if $(filter tests/model/%,$(1)),$(INC_MODEL),\
	$(if $(filter-out tests/contract/door_inproc.c,$(filter tests/contract/%,$(1))),$(INC_CONTRACT),\
	$(if $(filter-out %/door_native.c,$(filter tests/malformed/%,$(1))),$(INC_CONTRACT) $(INC_MALFORMED),\
	$(if $(filter tests/malformed/%,$(1)),$(INC_TESTS) $(INC_MALFORMED),\
	$(if $(filter-out tests/failnth/door_inproc.c,$(filter tests/failnth/%,$(1))),$(INC_API) -Itests/vm,\
	$(if $(filter tests/%,$(1)),$(INC_TESTS),$(INC_API))))))))))

CHECKED := -Werror -DKVP_SHIM_ABORT_ON_WARN -DKVP_SHIM_LOCKDEP
CC_release := $(CC)
CFLAGS_release := -O2 -fPIC $(CFLAGS)
CC_asan := $(CC)
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all $(CHECKED)
CC_tsan := $(CC)
CFLAGS_tsan := -O1 -fsanitize=thread $(CHECKED)
CC_fuzz := $(CLANG)
CFLAGS_fuzz := -O1 -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all $(CHECKED)
CC_fast := $(CC)
CFLAGS_fast := -O2 $(CHECKED)
CC_broken := $(CC)
CFLAGS_broken := -O2 -DKVP_TEST_BROKEN_COMPARE
CC_nofence := $(CC)
CFLAGS_nofence := -O1 -DKVP_TEST_BROKEN_FENCE
# Every access of the core to memory is a call: of tests/holds, not of a sanitizer.
CC_holds := $(CC)
CFLAGS_holds = -O1 $(CHECKED) -DKVP_SHIM_HOLDS -DKVP_SLICE=kvp_shim_slice $(if $(filter kmod/core/%,$<),-fno-inline \
	-fsanitize=kernel-address --param asan-instrumentation-with-call-threshold=0 \
	--param asan-stack=0 --param asan-globals=0)

# Compilers fuse a multiply and an add where they may, also of intrinsics: other bits.
exact = $(if $(filter kernels/% tests/model/% tests/unit/test_model_%,$(1)),-ffp-contract=off)

# $(call obj,VARIANT,SOURCES)
obj = $(patsubst %.c,$(B)/obj/$(1)/%.o,$(2))

define variant
$(B)/obj/$(1)/%.o: %.c Makefile
	@mkdir -p $$(@D)
	@echo "  CC      $(1) $$<"
	@$$(CC_$(1)) $$(CFLAGS_ALL) $$(CFLAGS_$(1)) $$(call exact,$$<) $$(call inc,$$<) -MMD -MP -c $$< -o $$@

$(2): $$(call obj,$(1),$$(LIB_SRC))
	@mkdir -p $$(@D)
	@echo "  AR      $$@"
	@rm -f $$@
	@ar rcs $$@ $$^
endef

LIB_release := $(B)/libkvpool.a
$(foreach v,asan tsan fuzz fast broken nofence holds,$(eval LIB_$(v) := $(B)/$(v)/libkvpool.a))
$(foreach v,release asan tsan fuzz fast broken nofence holds,$(eval $(call variant,$(v),$(LIB_$(v)))))

# What libkvpool is built on.
LIBS := -lcrypto -luring -lm

# $(call program,VARIANT,PROGRAM,SOURCES,LIBRARIES)
define program
$(2): $$(call obj,$(1),$(3)) $$(LIB_$(1))
	@mkdir -p $$(@D)
	@echo "  LD      $$@"
	@$$(CC_$(1)) $$(CFLAGS_ALL) $$(CFLAGS_$(1)) -o $$@ $$^ $(4) $(LIBS)
endef

# ---- what users get ----------------------------------------------------------

.PHONY: all
all: $(B)/libkvpool.so $(B)/libkvpool.a $(B)/kvctl

SONAME := libkvpool.so.0
$(B)/$(SONAME): $(call obj,release,$(LIB_SRC)) runtime/libkvpool.map
	@mkdir -p $(@D)
	@echo "  LD      $@"
	@$(CC) $(CFLAGS_ALL) $(CFLAGS_release) -shared -Wl,-soname,$(SONAME) \
		-Wl,--version-script=runtime/libkvpool.map -Wl,-z,defs -o $@ \
		$(filter %.o,$^) $(LIBS)

$(B)/libkvpool.so: $(B)/$(SONAME)
	@ln -sfn $(SONAME) $@

$(eval $(call program,release,$(B)/kvctl,$(KVCTL_SRC),-ljansson -ledit -lncursesw))

# ---- tests -------------------------------------------------------------------

UNIT := $(patsubst tests/unit/%.c,$(B)/asan/%,$(UNIT_SRC))
THREADS := $(patsubst tests/threads/%.c,$(B)/tsan/%,$(THREADS_SRC))
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
CHECK_LIBS := -lcheck -lsubunit -lm -lrt -ljansson

# Tests of kvctl run its verbs in their own process.
verbs_of = $(if $(filter tests/unit/test_kvctl_%,$(1)),\
	$(filter-out tools/kvctl/main.c,$(KVCTL_SRC)))
model_of = $(if $(filter tests/unit/test_model_%,$(1)),$(MODEL_SRC))
$(foreach t,$(UNIT_SRC),$(eval $(call program,asan,$(t:tests/unit/%.c=$(B)/asan/%),\
	$(t) $(SUPPORT_SRC) $(call verbs_of,$(t)) $(call model_of,$(t)),$(CHECK_LIBS) $(if $(call verbs_of,$(t)),-ledit -lncursesw))))
$(foreach t,$(THREADS_SRC),$(eval $(call program,tsan,$(t:tests/threads/%.c=$(B)/tsan/%),\
	$(t) $(SUPPORT_SRC) $(STAMPS_SRC),$(CHECK_LIBS))))
NOFENCE := $(B)/nofence/stamps $(B)/nofence/decode
$(foreach t,$(NOFENCE:$(B)/nofence/%=%),$(eval $(call program,nofence,$(B)/nofence/$(t),\
	tests/threads/$(t).c $(STAMPS_SRC))))
$(foreach t,$(FUZZ_SRC),$(eval $(call program,fuzz,$(t:tests/fuzz/%.c=$(B)/fuzz/%),\
	$(t),-fsanitize=fuzzer)))
$(eval $(call program,asan,$(B)/asan/property,$(PROPERTY_SRC) $(SUPPORT_SRC),$(CHECK_LIBS)))
$(eval $(call program,fast,$(B)/property,$(PROPERTY_SRC) $(SUPPORT_SRC),$(CHECK_LIBS)))
$(eval $(call program,holds,$(B)/holds/property,$(PROPERTY_SRC) $(SUPPORT_SRC) $(HOLDS_SRC) \
	tests/holds/tell.c,$(CHECK_LIBS)))
$(eval $(call program,holds,$(B)/holds/holds,tests/holds/holds.c $(wildcard tests/holds/cases_*.c) \
	$(SUPPORT_SRC) $(HOLDS_SRC),$(CHECK_LIBS)))
$(eval $(call program,asan,$(B)/asan/kvctl,$(KVCTL_SRC),-ljansson -ledit -lncursesw))
$(eval $(call program,broken,$(B)/broken/kvctl,$(KVCTL_SRC),-ljansson -ledit -lncursesw))

# Programs for the virtual machine, one a source beside the parts that they share,
# linked as an engine would be. VM32: those that do without the library are built as
# 32-bit programs, too (NAME32).
VM_SUPPORT := $(wildcard tests/vm/support*.c)
VM_SRC := $(filter-out $(VM_SUPPORT),$(wildcard tests/vm/*.c))
VM32 :=
VM := $(VM_SRC:tests/vm/%.c=$(B)/vm/%) $(VM32:%=$(B)/vm/%32)
$(foreach t,$(VM_SRC),$(eval $(call program,release,$(t:tests/vm/%.c=$(B)/vm/%),\
	$(t) $(VM_SUPPORT) $(if $(filter %/stamps.c,$(t)),$(STAMPS_SRC)))))
$(VM32:%=$(B)/vm/%32): $(B)/vm/%32: tests/vm/%.c $(VM_SUPPORT) $(wildcard tests/vm/*.h) \
		uapi/linux/kvpool.h Makefile
	@mkdir -p $(@D)
	@echo "  CC      -m32 $@"
	@$(CC) -m32 -static $(CFLAGS_ALL) -O2 $(CFLAGS) $(INC_API) -Itests/vm -o $@ $(filter %.c,$^)

# The contract test goes through every door; its 32-bit program only calls ioctl(2).
CONTRACT_SRC := $(wildcard tests/contract/*.c)
CONTRACT32_SRC := $(filter-out %/doors.c %/door_inproc.c %/door_uring.c,$(CONTRACT_SRC))
CONTRACT := $(filter-out %/doors32.c,$(CONTRACT_SRC)) tests/support/copydoor.c
VM += $(B)/vm/contract $(B)/vm/contract32
$(eval $(call program,release,$(B)/vm/contract,$(CONTRACT)))
$(eval $(call program,asan,$(B)/asan/contract,$(CONTRACT)))
$(B)/vm/contract32: $(CONTRACT32_SRC) $(wildcard tests/contract/*.h tests/layout/*.h) \
		tests/support/random.h uapi/linux/kvpool.h Makefile
	@mkdir -p $(@D)
	@echo "  CC      -m32 $@"
	@$(CC) -m32 -static $(CFLAGS_ALL) -O2 $(CFLAGS) $(INC_CONTRACT) -o $@ $(filter %.c,$^)

# Each point at which a call can fail does so once: in this process, and on the debug kernel.
FAILNTH_SRC := $(wildcard tests/failnth/*.c)
FAILNTH := $(filter-out %_device.c,$(FAILNTH_SRC)) $(addprefix tests/support/,copydoor.c exportdoor.c harness.c)
$(eval $(call program,asan,$(B)/asan/failnth,$(FAILNTH) $(VM_SUPPORT)))
VM += $(B)/vm/fail_nth
$(eval $(call program,release,$(B)/vm/fail_nth,$(filter-out %_inproc.c,$(FAILNTH_SRC)) $(VM_SUPPORT)))

# The fuzzer of malformed calls begins with calls of the contract test's. What they may answer is
# taken from the contract's header.
MALFORMED_SRC := $(filter-out %/doors32.c,$(wildcard tests/malformed/*.c)) \
	$(filter-out %/main.c %/device.c %/chains.c %/doors.c %/doors32.c %/door_inproc.c \
		%/door_ioctl.c %/door_uring.c,$(CONTRACT_SRC))
MALFORMED32_SRC := tests/malformed/doors32.c \
	$(filter-out %/doors.c %/door_native.c %/ring.c,$(MALFORMED_SRC))
VM += $(B)/vm/malformed $(B)/vm/malformed32
$(B)/malformed/documented.inc: tests/malformed/documented uapi/linux/kvpool.h
	@mkdir -p $(@D)
	@tests/malformed/documented uapi/linux/kvpool.h >$@
$(foreach v,asan release,$(call obj,$(v),tests/malformed/judge.c)): $(B)/malformed/documented.inc
$(eval $(call program,release,$(B)/vm/malformed,$(MALFORMED_SRC)))
$(eval $(call program,asan,$(B)/asan/malformed,$(MALFORMED_SRC)))
$(B)/vm/malformed32: $(MALFORMED32_SRC) $(B)/malformed/documented.inc tests/support/random.h \
		$(wildcard tests/malformed/*.h tests/contract/*.h tests/layout/*.h) \
		uapi/linux/kvpool.h Makefile
	@mkdir -p $(@D)
	@echo "  CC      -m32 $@"
	@$(CC) -m32 -static $(CFLAGS_ALL) -O2 $(CFLAGS) $(INC_CONTRACT) $(INC_MALFORMED) -o $@ \
		$(filter %.c,$^)

# scripts/vm-image takes what lies there.
export KVPOOL_BUILD := $(B)
export SEED
VM_KERNELS := 6.1 6.12
VM_RUN = scripts/check-vm-judge $(VM_KERNELS:%="scripts/vm-run % tests/vm/tests.list")

.PHONY: tests
tests: all $(VM) $(UNIT) $(THREADS) $(NOFENCE) $(FUZZ) $(B)/asan/property $(B)/asan/kvctl $(B)/broken/kvctl \
	$(B)/asan/contract $(B)/asan/malformed $(B)/asan/failnth $(B)/holds/holds $(B)/holds/property

CHECK_RUN = "tests/layout/check 64" "tests/layout/check 32" $(UNIT) \
	"$(B)/asan/property --ops 100000 --seed $(SEED)" \
	"$(B)/holds/property --ops 100000 --seed $(SEED)" $(B)/holds/holds \
	"tests/contract/check $(B) --seed $(SEED)" $(B)/asan/failnth \
	"$(B)/asan/malformed --door native --calls 100000 --seed $(SEED)" \
	$(THREADS:%="% --seed $(SEED)") "tests/threads/broken $(B) --seed $(SEED)" \
	$(FUZZ:%="scripts/fuzz % 5 $(SEED)") $(CLI_TESTS) \
	$(foreach t,demo replay_full replay_json replay_timed replay_plot shell_scenarios shell_commands shell_expect \
		shell_malformed shell_terminal create stat blocks map clients fsck help door limit reap top_terminal,\
		"KVCTL=$(CURDIR)/$(B)/asan/kvctl tests/cli/$(t).sh") \
	scripts/check-exports scripts/check-kernels scripts/check-install scripts/check-readme scripts/check-kmod scripts/check-packaging scripts/check-kernel-doc \
	scripts/check-kernel-style scripts/check-syzkaller tests/syzkaller/broken $(VM_RUN)

.PHONY: check
check:
	@scripts/deps check
	@$(MAKE) -j$(JOBS) tests
	@tests/run $(CHECK_RUN)

.PHONY: debug-kernel
debug-kernel:
	@scripts/deps debug
	@scripts/debug-kernel

# DEBUG=1: on the debug kernel instead.
DEBUG_RUN := scripts/check-debug-net "scripts/vm-run debug tests/vm/tests.list tests/vm/debug.list"
.PHONY: check-vm
check-vm: $(if $(filter 1,$(DEBUG)),debug-kernel)
	@scripts/deps check
	@$(MAKE) -j$(JOBS) $(B)/kvctl $(VM)
	@$(if $(filter 1,$(DEBUG)),TEST_TIMEOUT=7200 tests/run $(DEBUG_RUN),tests/run $(VM_RUN))

# Fresh seeds each time, printed so that a failure can be run again. What passes says in its last
# lines what ran how often.
SOAK_T ?= 600
SOAK_SEEDS := $(strip $(shell od -An -N8 -tu4 /dev/urandom))
SOAK_RUN = "$(B)/property --ops 10000000 --seed $(SEED)" \
	$(foreach s,$(SOAK_SEEDS),"$(B)/property --ops 1000000 --seed $(s)" \
		"$(B)/asan/property --ops 1000000 --seed $(s)" "$(B)/holds/property --ops 1000000 --seed $(s)") \
	$(foreach t,$(THREADS),"$(t) --ops $(if $(filter %/threads,$(t)),1000000,100000) \
		--seed $(firstword $(SOAK_SEEDS))") \
	$(FUZZ:%="scripts/fuzz % $(SOAK_T) $(firstword $(SOAK_SEEDS))") \
	"$(B)/vm/malformed --door native --calls 1000000 --seed $(firstword $(SOAK_SEEDS))" \
	$(VM_KERNELS:%="scripts/vm-run % -c '@7200 malformed --door device --calls 1000000 --procs 2 --seed $(firstword $(SOAK_SEEDS))'") \
	$(VM_KERNELS:%="scripts/vm-run % -c '@7200 kill_clients --rounds 200 --seed $(firstword $(SOAK_SEEDS))'") \
	scripts/check-cocci $(DEBUG_RUN)

.PHONY: soak
soak: debug-kernel
	@scripts/deps check
	@scripts/deps cocci
	@$(MAKE) -j$(JOBS) tests $(B)/property
	@echo "seeds: $(SEED) $(SOAK_SEEDS)"
	@TEST_TIMEOUT=14400 TEST_SHOW=4 tests/run $(SOAK_RUN)

.PHONY: fuzz
fuzz:
	@scripts/deps check
	@$(MAKE) -j$(JOBS) $(FUZZ)
	@$(foreach f,$(FUZZ),scripts/fuzz $(f) $(T);)

# BENCH="--quick" and so on: options of kvctl bench. TRACE: a trace to replay, too.
TRACE ?= $(wildcard ../shared/traces/conversation_trace.jsonl)
.PHONY: bench
bench:
	@scripts/deps quickstart
	@$(MAKE) -j$(JOBS) $(B)/kvctl
	@$(B)/kvctl bench $(TRACE:%=--trace %) $(BENCH)

# KERNEL: which of them demo-vm and bench-vm boot.
KERNEL ?= 6.12
.PHONY: demo-vm
demo-vm:
	@scripts/deps vm
	@$(MAKE) -j$(JOBS) $(B)/kvctl $(B)/vm/demo_vm
	@scripts/vm-run $(KERNEL) -o demo_vm

.PHONY: bench-vm
bench-vm:
	@scripts/deps vm
	@$(MAKE) -j$(JOBS) $(B)/kvctl $(B)/vm/bench_vm
	@scripts/vm-run $(KERNEL) -o "@1200 bench_vm $(BENCH)"

# The kernel's semantic patches over the module: minutes, for seconds of reading.
.PHONY: cocci
cocci:
	@scripts/deps cocci
	@scripts/check-cocci

# The newest 7.x kernel that Debian has: fetches 200 MB, once.
.PHONY: check-newer
check-newer:
	@scripts/deps check
	@$(MAKE) -j$(JOBS) $(B)/kvctl $(VM)
	@tests/run scripts/check-newer

# ---- the kernel module -------------------------------------------------------

# Kbuild leaves its files beside the sources, so it works in a tree of links.
.PHONY: kmod
kmod:
	@scripts/deps kmod
	@scripts/build-kmod "$(KDIR)" "$(B)"

# INSTALL_MOD_PATH is the kernel's word for DESTDIR.
INSTALL_MOD_PATH ?= $(DESTDIR)
.PHONY: modules_install
modules_install: kmod
	@scripts/install-kmod "$(B)" "$(INSTALL_MOD_PATH)"

.PHONY: dkms-install
dkms-install:
	@scripts/install-dkms "$(VERSION)" "$(DESTDIR)"

# ---- installing ---------------------------------------------------------------

# DESTDIR stages: what is installed says PREFIX all the same.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
VERSION := $(shell sed -n 's/^.define KVP_VERSION[^"]*"\(.*\)"$$/\1/p' runtime/include/kvpool.h)
HEADERS := $(wildcard runtime/include/*.h)
MAN := $(wildcard man/*.[1-9])

# $(call at,DIRECTORY): where it is made, whatever directory it is made from
at = $(DESTDIR)$(abspath $(1))
man_dir = $(call at,$(MANDIR))/man$(subst .,,$(suffix $(1)))
INSTALLED = $(call at,$(BINDIR))/kvctl $(call at,$(LIBDIR))/$(SONAME) \
	$(call at,$(LIBDIR))/libkvpool.so $(call at,$(LIBDIR))/libkvpool.a \
	$(call at,$(LIBDIR))/pkgconfig/kvpool.pc $(call at,$(INCLUDEDIR))/linux/kvpool.h \
	$(HEADERS:runtime/include/%=$(call at,$(INCLUDEDIR))/%) \
	$(foreach m,$(MAN),$(call man_dir,$(m))/$(notdir $(m)))

.PHONY: install
install: all
	@install -d $(sort $(dir $(INSTALLED)))
	@install -m 755 $(B)/kvctl $(call at,$(BINDIR))
	@install -m 755 $(B)/$(SONAME) $(call at,$(LIBDIR))
	@ln -sfn $(SONAME) $(call at,$(LIBDIR))/libkvpool.so
	@install -m 644 $(B)/libkvpool.a $(call at,$(LIBDIR))
	@install -m 644 $(HEADERS) $(call at,$(INCLUDEDIR))
	@install -m 644 uapi/linux/kvpool.h $(call at,$(INCLUDEDIR))/linux
	@$(foreach m,$(MAN),install -m 644 $(m) $(call man_dir,$(m));)
	@sed -e 's|@PREFIX@|$(abspath $(PREFIX))|' -e 's|@LIBDIR@|$(abspath $(LIBDIR))|' \
		-e 's|@INCLUDEDIR@|$(abspath $(INCLUDEDIR))|' -e 's|@VERSION@|$(VERSION)|' \
		runtime/kvpool.pc.in >$(call at,$(LIBDIR))/pkgconfig/kvpool.pc
	@chmod 644 $(call at,$(LIBDIR))/pkgconfig/kvpool.pc
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" -eq 0 ]; then ldconfig; fi
	@echo "kvpool: installed in $(call at,$(PREFIX))"

.PHONY: uninstall
uninstall:
	rm -f $(INSTALLED)

# ---- for people --------------------------------------------------------------

.PHONY: quickstart
quickstart:
	@scripts/deps quickstart
	@$(MAKE) -j$(JOBS) all
	@$(B)/kvctl demo

.PHONY: clean
clean:
	rm -rf $(B)

.PHONY: help
help:
	@echo "make quickstart   install what is missing, build, show the pool at work"
	@echo "make              build/libkvpool.so, build/libkvpool.a, build/kvctl"
	@echo "make check        install what is missing, build all, run all tests (SEED=n)"
	@echo "make check-vm     the tests that need the device, in QEMU, on kernels 6.1 and 6.12"
	@echo "make check-vm DEBUG=1  on a kernel that looks for faults of memory and locks, and for leaks;"
	@echo "                  make debug-kernel builds it, in 13 minutes of two processors, once"
	@echo "make check-newer  the module, and those tests, on the newest 7.x kernel of trixie-backports"
	@echo "make cocci        the kernel's semantic patches over the module"
	@echo "make demo-vm      three processes share a pool there, and one is killed"
	@echo "make bench-vm     what ioctl and io_uring add to the cost in process (KERNEL=6.1|6.12)"
	@echo "make soak         the long tests; prints its seeds (SEED=n SOAK_SEEDS='n n' SOAK_T=s)"
	@echo "make bench        measure against the machine's floors (BENCH='--quick' and so on)"
	@echo "make fuzz T=60    fuzz the dispatch table for T seconds"
	@echo "make kmod         build/kvpool.ko (KDIR=dir of another kernel's build files)"
	@echo "make modules_install   the module, its udev rule and modprobe configuration (DESTDIR=dir)"
	@echo "make dkms-install the module by DKMS, for each kernel anew (DESTDIR=dir to stage)"
	@echo "make install      into PREFIX=/usr/local (DESTDIR=dir to stage; BINDIR LIBDIR"
	@echo "                  INCLUDEDIR MANDIR); make uninstall removes it"
	@echo "make clean        remove build/"

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
