// SPDX-License-Identifier: Apache-2.0
// Why: an emulated processor has no caches, and a board waits for memory more than for instructions. As a plug-in of
// qemu-system-aarch64 (its interface of version 4; from_memory.py boots a machine with it) this follows what programs
// read and write through caches like a Raspberry Pi's, and counts what these would have had to fetch.
//
//   -plugin libfrom_memory.so,out=FILE,l1=KIB,l1ways=N,l2=KIB,l2ways=N
//
// Each processor has a first cache of its own, all share the second; what was used longest ago makes room. Nothing is
// fetched early, and prefetches that a program asks for are not seen. The kernel's own work is left out. At its end:
// "instructions N first N second N", executed ones and lines of 64 bytes that each cache did not have; then the
// instructions that missed the second most, with theirs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
struct qemu_plugin_tb;    // a block that is translated
struct qemu_plugin_insn;  // an instruction of one
struct qemu_info_t;
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* block, std::size_t index);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* instruction);
char* qemu_plugin_insn_disas(const qemu_plugin_insn* instruction);
unsigned qemu_plugin_mem_size_shift(std::uint32_t access);
void qemu_plugin_register_vcpu_tb_trans_cb(std::uint64_t plugin, void (*call)(std::uint64_t, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb* block, void (*call)(unsigned, void*), int flags, void* with);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* instruction,
                                      void (*call)(unsigned, std::uint32_t, std::uint64_t, void*), int flags, int which,
                                      void* with);
void qemu_plugin_register_atexit_cb(std::uint64_t plugin, void (*call)(std::uint64_t, void*), void* with);

[[gnu::visibility("default")]] extern const int qemu_plugin_version;
const int qemu_plugin_version = 4;
[[gnu::visibility("default")]] int qemu_plugin_install(std::uint64_t plugin, const qemu_info_t* info, int count,
                                                       char** words);
}

namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::size_t kMostProcessors = 8;

class Cache {
 public:
  Cache() = default;
  Cache(std::size_t kib, std::size_t ways) : ways_(ways), sets_(kib * 1024 / kLine / ways), lines_(sets_ * ways_) {}

  // Whether it has the line; from now on it has.
  bool take(std::uint64_t line) {
    const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(line % sets_ * ways_);
    const auto end = begin + static_cast<std::ptrdiff_t>(ways_);
    const auto found = std::find(begin, end, line + 1);  // 0 is none
    const bool has = found != end;
    std::rotate(begin, has ? found : end - 1, has ? found + 1 : end);
    *begin = line + 1;
    return has;
  }

 private:
  std::size_t ways_ = 1, sets_ = 1;
  std::vector<std::uint64_t> lines_;  // of each set, the last one used first
};

struct Place {
  std::uint64_t address = 0;
  std::string text;
  std::uint64_t missed = 0;
};

struct Block {
  std::uint64_t instructions = 0, runs = 0;
};

struct Counts {
  std::mutex mutex;
  std::string file;
  std::array<Cache, kMostProcessors> first;
  Cache second;
  std::uint64_t missed_first = 0, missed_second = 0;
  std::deque<Place> places;
  std::deque<Block> blocks;
};

// The emulator's threads call until it is gone, so that nothing of this ends before.
Counts& counts() {
  static auto* const all = new Counts;
  return *all;
}

void on_access(unsigned processor, std::uint32_t access, std::uint64_t address, void* with) {
  Counts& all = counts();
  const std::scoped_lock lock(all.mutex);
  const std::uint64_t last = (address + (std::uint64_t{1} << qemu_plugin_mem_size_shift(access)) - 1) / kLine;
  for (std::uint64_t line = address / kLine; line <= last; ++line) {
    if (all.first[processor % kMostProcessors].take(line)) continue;
    ++all.missed_first;
    if (all.second.take(line)) continue;
    ++all.missed_second;
    ++static_cast<Place*>(with)->missed;
  }
}

void on_block(unsigned /*processor*/, void* with) {
  const std::scoped_lock lock(counts().mutex);
  ++static_cast<Block*>(with)->runs;
}

bool is_of_kernel(std::uint64_t address) { return address >> 63U != 0; }

void on_translation(std::uint64_t /*plugin*/, qemu_plugin_tb* block) {
  constexpr int kNoRegisters = 0, kReadsAndWrites = 3;
  Counts& all = counts();
  const std::scoped_lock lock(all.mutex);
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_insn* const instruction = qemu_plugin_tb_get_insn(block, i);
    const std::uint64_t address = qemu_plugin_insn_vaddr(instruction);
    if (is_of_kernel(address)) return;
    if (i == 0) {
      all.blocks.push_back({.instructions = count});
      qemu_plugin_register_vcpu_tb_exec_cb(block, on_block, kNoRegisters, &all.blocks.back());
    }
    char* const text = qemu_plugin_insn_disas(instruction);
    all.places.push_back({.address = address, .text = text == nullptr ? "" : text});
    std::free(text);
    qemu_plugin_register_vcpu_mem_cb(instruction, on_access, kNoRegisters, kReadsAndWrites, &all.places.back());
  }
}

void on_end(std::uint64_t /*plugin*/, void* /*with*/) {
  constexpr std::size_t kMostPlaces = 200;
  Counts& all = counts();
  const std::scoped_lock lock(all.mutex);
  std::uint64_t instructions = 0;
  for (const Block& block : all.blocks) instructions += block.instructions * block.runs;
  std::map<std::uint64_t, Place> by_address;  // one may have been translated more than once
  for (const Place& place : all.places) {
    Place& sum =
        by_address.try_emplace(place.address, Place{.address = place.address, .text = place.text}).first->second;
    sum.missed += place.missed;
  }
  std::vector<Place> places;
  for (const auto& [address, place] : by_address) places.push_back(place);
  std::ranges::sort(places, std::ranges::greater(), &Place::missed);
  places.resize(std::min(places.size(), kMostPlaces));
  std::ofstream to(all.file);
  to << "instructions " << instructions << " first " << all.missed_first << " second " << all.missed_second << '\n';
  for (const Place& place : places)
    to << std::hex << place.address << std::dec << ' ' << place.missed << ' ' << place.text << '\n';
}

// Behind "name=".
std::size_t number_of(const std::vector<std::string_view>& words, std::string_view name, std::size_t otherwise) {
  for (const std::string_view word : words)
    if (word.starts_with(name) && word.substr(name.size()).starts_with('='))
      return std::strtoull(word.substr(name.size() + 1).data(), nullptr, 10);
  return otherwise;
}

}  // namespace

int qemu_plugin_install(std::uint64_t plugin, const qemu_info_t* /*info*/, int count, char** words) {
  const std::vector<std::string_view> given(words, words + count);
  Counts& all = counts();
  for (const std::string_view word : given)
    if (word.starts_with("out=")) all.file = word.substr(4);
  all.first.fill(Cache(number_of(given, "l1", 32), number_of(given, "l1ways", 2)));
  all.second = Cache(number_of(given, "l2", 1024), number_of(given, "l2ways", 16));
  qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translation);
  qemu_plugin_register_atexit_cb(plugin, on_end, nullptr);
  return 0;
}
