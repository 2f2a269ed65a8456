/* SPDX-License-Identifier: GPL-2.0 */
/* What cdma.h takes from the C library, from the kernel. */
#include <linux/types.h>
