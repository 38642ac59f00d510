// SPDX-License-Identifier: Apache-2.0
// Why: long texts travel compressed to those who ask. Pictures are compressed already.
#pragma once

#include "daemon/http/message/message.h"

namespace kinglet::daemon::http {

// Replaces the body by its gzip when it is over 1 kB of text and gets smaller.
void compress(Reply& reply);

}  // namespace kinglet::daemon::http
