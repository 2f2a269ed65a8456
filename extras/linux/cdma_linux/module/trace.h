/* SPDX-License-Identifier: GPL-2.0 */
/* What a transfer goes through, for tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cdma

#if !defined(CDMA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CDMA_TRACE_H

#include <linux/tracepoint.h>

#include "driver.h"

#define show_direction(direction) \
	__print_symbolic(direction, { CDMA_OFFLOAD, "offload" }, { CDMA_PREFETCH, "prefetch" })

/* A request that makes sense is about to be handed over. */
TRACE_EVENT(cdma_submit,

	TP_PROTO(int number, const struct cdma_request *request),
	TP_ARGS(number, request),
	TP_STRUCT__entry(
		__field(int, number)
		__field(u32, direction)
		__field(u64, cookie)
		__field(u64, device)
		__field(u64, bytes)
		__field(u64, host_bytes)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->direction = request->direction;
		__entry->cookie = request->cookie;
		__entry->device = request->device;
		__entry->bytes = request->bytes;
		__entry->host_bytes = request->host_bytes;
	),
	TP_printk("cdma%d %s cookie=%llu device=%#llx bytes=%llu host_bytes=%llu",
		  __entry->number, show_direction(__entry->direction), __entry->cookie,
		  __entry->device, __entry->bytes, __entry->host_bytes)
);

/* The engine has been told of descriptors up to the tail of the ring. */
TRACE_EVENT(cdma_doorbell,

	TP_PROTO(int number, u32 direction, u32 tail),
	TP_ARGS(number, direction, tail),
	TP_STRUCT__entry(
		__field(int, number)
		__field(u32, direction)
		__field(u32, tail)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->direction = direction;
		__entry->tail = tail;
	),
	TP_printk("cdma%d %s tail=%u", __entry->number, show_direction(__entry->direction),
		  __entry->tail)
);

/* A transfer has ended, which is not yet known to its process. */
TRACE_EVENT(cdma_complete,

	TP_PROTO(int number, u32 direction, const struct cdma_reply *reply),
	TP_ARGS(number, direction, reply),
	TP_STRUCT__entry(
		__field(int, number)
		__field(u32, direction)
		__field(u64, cookie)
		__field(u64, bytes_read)
		__field(u64, bytes_written)
		__field(u64, cycles)
		__field(u32, status)
	),
	TP_fast_assign(
		__entry->number = number;
		__entry->direction = direction;
		__entry->cookie = reply->cookie;
		__entry->bytes_read = reply->bytes_read;
		__entry->bytes_written = reply->bytes_written;
		__entry->cycles = reply->cycles;
		__entry->status = reply->status;
	),
	TP_printk("cdma%d %s cookie=%llu status=%u bytes_read=%llu bytes_written=%llu cycles=%llu",
		  __entry->number, show_direction(__entry->direction), __entry->cookie,
		  __entry->status, __entry->bytes_read, __entry->bytes_written, __entry->cycles)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
