// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoints of kvp_trace.h. */
#include "core.h"

#define CREATE_TRACE_POINTS
#include "kvp_trace.h"
