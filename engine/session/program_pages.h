// SPDX-License-Identifier: Apache-2.0
// Why: of the pages of a program and its libraries most are looked at once, while it starts: tables of the dynamic
// linker, readers of files, passes. They stay in what the process takes until memory is short, which is its peak then.
#pragma once

#include <cstddef>

namespace kinglet::engine {

// Takes the pages of code and constants of all loaded libraries out of this process. They stay in the system's cache of
// files, so the next look at one is a page fault without a read, some hundred of them for what goes on to be used. A
// segment that may be written, or of which a page is not the file's (a breakpoint, a relocation in code), is left
// alone. Gives the bytes of segments whose pages went; 0: /proc cannot be read. Thread-safe.
std::size_t let_go_of_program_pages();

}  // namespace kinglet::engine
