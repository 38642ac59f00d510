// SPDX-License-Identifier: Apache-2.0
// Why: each function of pthreadpool's interface against loops, and that XNNPACK has all of them from us.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <xnnpack.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "engine/threads/pool.h"

namespace kinglet::engine {
namespace {

constexpr std::uint32_t kCore = 1;

// The places and lengths that a task was told, in one row, and how often.
using Call = std::vector<std::size_t>;
struct Calls {
  std::size_t threads = 1;
  std::mutex mutex;
  std::map<Call, int> seen;

  void add(Call call) {
    const std::scoped_lock lock(mutex);
    ++seen[std::move(call)];
  }
};

// Tasks, one of each kind of lead: what comes first is looked at here and not noted.
template <typename... Index>
void plain(void* of, Index... index) {
  static_cast<Calls*>(of)->add({index...});
}
template <typename... Index>
void with_thread(void* of, std::size_t thread, Index... index) {
  EXPECT_LT(thread, static_cast<Calls*>(of)->threads);
  static_cast<Calls*>(of)->add({index...});
}
template <typename... Index>
void with_core(void* of, std::uint32_t core, Index... index) {
  EXPECT_EQ(core, kCore);
  static_cast<Calls*>(of)->add({index...});
}
template <typename... Index>
void with_both(void* of, std::uint32_t core, std::size_t thread, Index... index) {
  EXPECT_EQ(core, kCore);
  with_thread(of, thread, index...);
}

// What loops give: `cut` of the last dimensions have lengths.
void loop(std::span<const std::size_t> ranges, std::span<const std::size_t> steps, Call at, Call lengths, Calls& to) {
  const std::size_t d = at.size();
  if (d == ranges.size()) {
    at.insert(at.end(), lengths.begin(), lengths.end());
    to.add(std::move(at));
    return;
  }
  const std::size_t first_cut = ranges.size() - steps.size();
  const std::size_t step = d < first_cut ? 1 : std::max<std::size_t>(steps[d - first_cut], 1);
  for (std::size_t i = 0; i < ranges[d]; i += step) {
    Call next = at;
    Call longer = lengths;
    next.push_back(i);
    if (d >= first_cut) longer.push_back(std::min(step, ranges[d] - i));
    loop(ranges, steps, std::move(next), std::move(longer), to);
  }
}

// Random ranges of kDims dimensions and steps of kTiled; call(pool, calls, numbers...) calls the function.
template <std::size_t kDims, std::size_t kTiled, typename Function>
void hold_to_loops(const char* name, const Function& function) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random); };
  for (std::size_t threads = 0; threads <= 4; ++threads) {
    const auto pool = threads == 0 ? nullptr : Pool::make(threads, {.always_shared = true}).value();
    for (int round = 0; round < 12; ++round) {
      std::array<std::size_t, kDims> ranges{};
      std::array<std::size_t, kTiled> steps{};
      for (std::size_t& range : ranges) range = below(kDims < 3 ? 40 : 6);
      if (round % 4 != 0) {
        for (std::size_t& range : ranges) ++range;
      }
      for (std::size_t& step : steps) step = below(9);
      Calls expected, calls;
      calls.threads = std::max<std::size_t>(threads, 1);
      loop(ranges, steps, {}, {}, expected);
      std::apply(
          [&](auto... numbers) { function(pool ? as_pthreadpool(pool->anybody()) : nullptr, &calls, numbers...); },
          std::tuple_cat(ranges, steps));
      EXPECT_EQ(calls.seen, expected.seen) << name << ", " << threads << " threads";
    }
  }
}

#define HOLD(NAME, LEAD, DIMS, TILED)                                                                  \
  hold_to_loops<DIMS, TILED>(#NAME, [](pthreadpool_t pool, Calls* calls, auto... numbers) {            \
    pthreadpool_parallelize_##NAME(pool, LEAD, calls, numbers..., PTHREADPOOL_FLAG_DISABLE_DENORMALS); \
  })
#define HOLD_CORE(NAME, LEAD, DIMS, TILED)                                                  \
  hold_to_loops<DIMS, TILED>(#NAME, [](pthreadpool_t pool, Calls* calls, auto... numbers) { \
    pthreadpool_parallelize_##NAME(pool, LEAD, calls, kCore, 3, numbers..., 0);             \
  })

TEST(FormsTest, GridsOfUpToThreeDimensionsAreWalkedAsByLoops) {
  HOLD(1d, plain, 1, 0);
  HOLD(1d_with_thread, with_thread, 1, 0);
  HOLD_CORE(1d_with_uarch, with_core, 1, 0);
  HOLD(1d_tile_1d, plain, 1, 1);
  HOLD(2d, plain, 2, 0);
  HOLD(2d_with_thread, with_thread, 2, 0);
  HOLD(2d_tile_1d, plain, 2, 1);
  HOLD_CORE(2d_tile_1d_with_uarch, with_core, 2, 1);
  HOLD_CORE(2d_tile_1d_with_uarch_with_thread, with_both, 2, 1);
  HOLD(2d_tile_2d, plain, 2, 2);
  HOLD_CORE(2d_tile_2d_with_uarch, with_core, 2, 2);
  HOLD(3d, plain, 3, 0);
  HOLD(3d_tile_1d, plain, 3, 1);
  HOLD(3d_tile_1d_with_thread, with_thread, 3, 1);
  HOLD_CORE(3d_tile_1d_with_uarch, with_core, 3, 1);
  HOLD_CORE(3d_tile_1d_with_uarch_with_thread, with_both, 3, 1);
  HOLD(3d_tile_2d, plain, 3, 2);
  HOLD_CORE(3d_tile_2d_with_uarch, with_core, 3, 2);
}

TEST(FormsTest, GridsOfMoreDimensionsAreWalkedAsByLoops) {
  HOLD(4d, plain, 4, 0);
  HOLD(4d_tile_1d, plain, 4, 1);
  HOLD(4d_tile_2d, plain, 4, 2);
  HOLD_CORE(4d_tile_2d_with_uarch, with_core, 4, 2);
  HOLD(5d, plain, 5, 0);
  HOLD(5d_tile_1d, plain, 5, 1);
  HOLD(5d_tile_2d, plain, 5, 2);
  HOLD(6d, plain, 6, 0);
  HOLD(6d_tile_1d, plain, 6, 1);
  HOLD(6d_tile_2d, plain, 6, 2);
}

// Without a pool tiles are called in the order in which threads share them out.
std::vector<Call> order_of(std::size_t rows, std::size_t columns) {
  std::vector<Call> order;
  const auto note = [](void* to, std::size_t i, std::size_t j, std::size_t, std::size_t) {
    static_cast<std::vector<Call>*>(to)->push_back({i, j});
  };
  pthreadpool_parallelize_2d_tile_2d(nullptr, note, &order, rows, columns, 7, 32, 0);
  return order;
}

TEST(FormsTest, AFewTilesOfRowsAreTheQuickerOnes) {
  EXPECT_EQ(order_of(15, 40), (std::vector<Call>{{0, 0}, {7, 0}, {14, 0}, {0, 32}, {7, 32}, {14, 32}}));
  EXPECT_EQ(order_of(16 * 7, 64)[1], (Call{7, 0}));
  EXPECT_EQ(order_of(16 * 7 + 1, 64)[1], (Call{0, 32}));
}

TEST(FormsTest, APoolThatIsMadeByTheInterfaceIsOneOfOurs) {
  const pthreadpool_t pool = pthreadpool_create(2);
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pthreadpool_get_threads_count(pool), 2U);
  Calls calls{.threads = 2, .mutex = {}, .seen = {}};
  pthreadpool_parallelize_1d(pool, plain, &calls, 5, 0);
  EXPECT_EQ(calls.seen.size(), 5U);
  pthreadpool_destroy(pool);
  pthreadpool_destroy(nullptr);
  EXPECT_EQ(pthreadpool_get_threads_count(nullptr), 1U);
}

// The symbols that a loaded library takes from others; they stand before those that its hash table has.
std::vector<std::string_view> taken_by(const link_map& library) {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const auto address = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) hash = reinterpret_cast<const std::uint32_t*>(address);
  }
  std::vector<std::string_view> out;
  if (symbols == nullptr || names == nullptr || hash == nullptr) return out;
  for (std::uint32_t i = 0; i < hash[1]; ++i) out.emplace_back(names + symbols[i].st_name);
  return out;
}

TEST(FormsTest, XnnpackHasEveryFunctionOfAPoolFromThisProgram) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);  // it is linked
  link_map* library = nullptr;
  ASSERT_EQ(dlinfo(dlopen(nullptr, RTLD_NOW), RTLD_DI_LINKMAP, &library), 0);
  while (library != nullptr && !std::string_view(library->l_name).contains("libXNNPACK")) library = library->l_next;
  ASSERT_NE(library, nullptr);
  Dl_info ours{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&as_pthreadpool), &ours), 0);
  int functions = 0;
  for (const std::string_view name : taken_by(*library)) {
    if (!name.starts_with("pthreadpool_")) continue;
    ++functions;
    Dl_info found{};
    ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, std::string(name).c_str()), &found), 0) << name;
    EXPECT_EQ(found.dli_fbase, ours.dli_fbase) << name << " is libpthreadpool's: it would take our pool for its own";
  }
  EXPECT_GE(functions, 10);
}

}  // namespace
}  // namespace kinglet::engine
