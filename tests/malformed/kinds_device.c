// SPDX-License-Identifier: MIT
/*
 * What is wrong around the call: its number, the file that it is made on, the sqe; and who else
 * writes to its memory, or ends its client, meanwhile.
 */
#include "malformed.h"

/* ---- numbers ---- */

static bool number_unknown(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	static const __u32 unknown[] = {
		0x0a, 0x0f, 0x14, 0x1f, 0x2d, 0x2f, 0x34, 0x45, 0x50, 0x65, 0x71, 0x85, 0x91, 0xff,
	};

	mf->call.nr = unknown[st_below(CT_SIZE(unknown))];
	mf->call.op = NULL;
	mf->cmd = KVP_IOC(mf->call.nr);
	target->must = true;
	target->readable = 0;
	return true;
}

/* Not one that the kernel's files have for all. */
static bool number_type(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	const __u32 type = 0xc0 + st_below(0x17);

	mf->cmd = _IOC(st_below(4), type, mf->call.nr, st_below(1 << 14));
	mf->call.op = NULL;
	target->must = true;
	target->readable = 0;
	return true;
}

/* Only type and number are looked at. */
static bool number_bits(struct mf_call *mf, struct mf_target *target, __u64 arg)
{
	mf->cmd = _IOC(st_below(4), KVP_IOC_MAGIC, mf->call.nr, st_below(1 << 14));
	return true;
}

/* ---- files ---- */

static bool other_file(struct mf_call *mf, struct mf_target *target, __u64 file)
{
	mf->fd = mf_file(file, mf);
	mf->other_file = true;
	mf->foreign = true;
	/* Another client of the device's, which may make the call. */
	if (file != MF_FD_DEVICE)
		target->must = true;
	target->readable = 0;
	target->blind = true;
	return true;
}

/* ---- the sqe ---- */

enum sqe_kind {
	SQE_ZERO,
	SQE_NO_LENGTH,
	SQE_FIXED,
	SQE_FLAGS,
	SQE_IOPRIO,
};

static bool sqe(struct mf_call *mf, struct mf_target *target, __u64 kind)
{
	if (mf->entrance == MF_IOCTL)
		mf->entrance = MF_URING;
	switch (kind) {
	case SQE_ZERO:
		mf->sqe_zero = 1U << st_below(32);
		break;
	case SQE_NO_LENGTH:
		mf->len = 0;
		break;
	case SQE_FIXED:
		mf->sqe_flags = 1;
		break;
	case SQE_FLAGS:
		mf->sqe_flags = 2U << st_below(31);
		break;
	default:
		mf->sqe_ioprio = 1 + st_below(0xffff);
		mf->foreign = true;
		target->blind = true;
		target->readable = 0;
		return true;
	}
	mf->foreign = true;
	target->must = true;
	target->readable = 0;
	return true;
}

/* ---- company ---- */

/* Structs that change are read where nothing of the program's lies. */
static bool company(struct mf_call *mf, struct mf_target *target, __u64 company)
{
	if (company == MF_FLIPS && mf->call.nr == KVP_OP_POOL_CREATE)
		return false;
	if ((company == MF_CLOSES || company == MF_UNMAPS) && !mf->slot->attached)
		return false;
	mf->company = company;
	target->blind = true;
	if (company == MF_CLOSES)
		mf->foreign = true;
	return true;
}

/* ---- the table ---- */

#define FILES(name_, file_)								\
	{ "call-on-" name_, MF_COMPANY, .device = true, .weight = 2, .apply = other_file,	\
	  .arg = (file_) }
#define SQE(name_, kind_)								\
	{ "sqe-" name_, MF_COMPANY, .ring = true, .weight = 3, .apply = sqe, .arg = (kind_) }

const struct mf_kind mf_device_kinds[] = {
	{ "number-unknown", MF_COMPANY, .weight = 3, .apply = number_unknown },
	{ "number-type", MF_COMPANY, .weight = 3, .apply = number_type },
	{ "number-bits", MF_COMPANY, .device = true, .weight = 3, .apply = number_bits },
	FILES("closed", MF_FD_CLOSED),
	FILES("other-client", MF_FD_DEVICE),
	FILES("pipe", MF_FD_PIPE),
	FILES("file", MF_FD_REGULAR),
	FILES("export", MF_FD_OTHER),
	SQE("zero", SQE_ZERO),
	SQE("no-length", SQE_NO_LENGTH),
	SQE("fixed", SQE_FIXED),
	SQE("flags", SQE_FLAGS),
	SQE("ioprio", SQE_IOPRIO),
	{ "changing", MF_COMPANY, .weight = 10, .apply = company, .arg = MF_FLIPS },
	{ "same-struct", MF_COMPANY, .device = true, .weight = 5, .apply = company,
	  .arg = MF_SAME },
	{ "same-client", MF_COMPANY, .device = true, .weight = 5, .apply = company,
	  .arg = MF_TWIN },
	{ "closing", MF_COMPANY, .device = true, .weight = 2, .apply = company,
	  .arg = MF_CLOSES },
	{ "unmapping", MF_COMPANY, .device = true, .weight = 2, .apply = company,
	  .arg = MF_UNMAPS },
	{ }
};
