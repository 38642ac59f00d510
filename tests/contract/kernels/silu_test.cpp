// SPDX-License-Identifier: Apache-2.0
// SiLU's kernel gives x * sigmoid(x) as far as its bound says, the same bits in every form and with any number of
// threads, also over its input.
//   KINGLET_SILU_EVERY=N   every Nth of all floats (otherwise every 9973rd)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <format>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "engine/backend/kernels/kernel.h"
#include "engine/graph/tensor.h"
#include "engine/session/session.h"
#include "tests/contract/kernels/float_layers.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine::kernels {
namespace {

// As silu_f32.cpp says: of the answer, and beside it.
constexpr double kRelative = 3.0 / (1 << 23);
const double kAbsolute = std::ldexp(1.0, -121);

std::vector<const KernelRow*> forms(const Work& work) {
  std::vector<const KernelRow*> found;
  for (const KernelRow* row : all_kernels()) {
    if (row->name.starts_with("silu_f32") && row->offer(work)) found.push_back(row);
  }
  return found;
}

const KernelRow& twin(const Work& work) {
  for (const KernelRow* row : forms(work)) {
    if (row->name.ends_with("__scalar")) return *row;
  }
  throw std::runtime_error("no twin");
}

Work work_of(const std::vector<float>& numbers) { return {SiluF32{.count = numbers.size()}}; }

// By one kernel, over its input or beside it.
std::vector<float> run_silu(const KernelRow& row, const std::vector<float>& numbers, int threads = 1,
                            bool over = false) {
  const TensorBuffer output = run_kernel(row, work_of(numbers), {std::as_bytes(std::span(numbers))},
                                         numbers.size() * sizeof(float), threads, over ? Lies::kOver : Lies::kApart);
  const auto* found = reinterpret_cast<const float*>(output.data());
  return {found, found + numbers.size()};
}

// Every how many-eth of all floats, of both signs: huge, tiny, infinite and none at all.
std::vector<float> floats() {
  const char* wish = std::getenv("KINGLET_SILU_EVERY");
  const std::uint64_t every = wish == nullptr ? 9973 : std::strtoull(wish, nullptr, 10);
  std::vector<float> numbers;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += every)
    numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  return numbers;
}

// Those that networks have, and borders.
std::vector<float> common_floats() {
  std::vector<float> numbers;
  for (int i = -120'000; i <= 120'000; ++i) numbers.push_back(static_cast<float>(i) / 1000.0F);
  for (const float border : {0.0F, -0.0F, 64.0F, -89.0F, std::numeric_limits<float>::denorm_min(),
                             std::numeric_limits<float>::min(), std::numeric_limits<float>::max()}) {
    for (const float number : {border, -border, std::nextafter(border, 1e30F), std::nextafter(border, -1e30F)})
      numbers.push_back(number);
  }
  return numbers;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

bool same_or_none(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y) || (std::isnan(x) && std::isnan(y));
  });
}

void expect_near(const std::vector<float>& numbers, const std::vector<float>& found) {
  double worst = 0;
  float worst_at = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i])) continue;
    const double expected = silu(static_cast<double>(numbers[i]));
    const double error = std::abs(static_cast<double>(found[i]) - expected);
    const double of_bound = error / (kRelative * std::abs(expected) + kAbsolute);
    if (of_bound > worst || std::isnan(of_bound)) {
      worst = of_bound;
      worst_at = numbers[i];
    }
  }
  ::testing::Test::RecordProperty("share_of_bound", std::format("{:.3f}", worst));
  EXPECT_LE(worst, 1) << "at " << worst_at;
}

TEST(Silu, IsTheFunctionAsFarAsItsBoundSays) {
  for (const std::vector<float>& numbers : {floats(), common_floats()})
    for (const KernelRow* row : forms(work_of(numbers))) expect_near(numbers, run_silu(*row, numbers));
}

TEST(Silu, KeepsWhatIsNoNumberAndHasLimitsAtInfinity) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> numbers{kInfinity, -kInfinity, kNone, -kNone, 3e38F, -3e38F, 0.0F, -0.0F, 1e-45F};
  for (const KernelRow* row : forms(work_of(numbers))) {
    const std::vector<float> found = run_silu(*row, numbers);
    EXPECT_EQ(found[0], kInfinity) << row->name;
    EXPECT_NEAR(found[1], 0, kAbsolute) << row->name;
    EXPECT_TRUE(std::isnan(found[2]) && std::isnan(found[3])) << row->name;
    EXPECT_EQ(found[4], 3e38F) << row->name;
    EXPECT_NEAR(found[5], 0, kAbsolute) << row->name;
    EXPECT_TRUE(found[6] == 0 && !std::signbit(found[6]) && found[7] == 0 && std::signbit(found[7])) << row->name;
    EXPECT_LE(std::abs(found[8]), 1e-45F) << row->name;
  }
}

TEST(Silu, GivesTheBitsOfItsTwinInEveryFormForAnyCountAndThreads) {
  const std::vector<float> all = common_floats();
  for (const std::size_t count : {1, 2, 3, 4, 5, 15, 16, 17, 31, 63, 64, 65, 100, 4095, 4096, 4097, 50'001, 240'003}) {
    const std::size_t first = (all.size() - count) / 2;
    const std::vector<float> numbers(all.begin() + static_cast<std::ptrdiff_t>(first),
                                     all.begin() + static_cast<std::ptrdiff_t>(first + count));
    const std::vector<float> expected = run_silu(twin(work_of(numbers)), numbers);
    for (const KernelRow* row : forms(work_of(numbers))) {
      EXPECT_TRUE(same_or_none(run_silu(*row, numbers, 1, true), expected)) << row->name << ", " << count;
      EXPECT_TRUE(same_or_none(run_silu(*row, numbers, 3), expected))
          << row->name << ", " << count << ", three threads";
    }
  }
}

TEST(Silu, GivesTheBitsOfItsTwinForFloatsOfAnyKind) {
  const std::vector<float> numbers = floats();
  const std::vector<float> expected = run_silu(twin(work_of(numbers)), numbers);
  for (const KernelRow* row : forms(work_of(numbers)))
    EXPECT_TRUE(same_or_none(run_silu(*row, numbers), expected)) << row->name;
}

TEST(Silu, StandsInANetworkWhereItPays) {
  const Graph graph = graph_of(R"(
%x = input f32[1,8,48,48]
%1 = Conv(%x, w:f32[16,8,1,1]#w)
%2 = Sigmoid(%1)
%3 = Mul(%1, %2)
%4 = GlobalAveragePool(%3)
%5 = kinglet::Silu(%4)
%6 = Mul(%3, %5)
output %6
)");
  const Tensor input = seeded_tensor(DataType::kF32, {1, 8, 48, 48}, "x");
  const std::vector<Tensor> expected = evaluate_graph(graph, {&input, 1}).value();
  for (const std::set<std::string>& forced : {std::set<std::string>{}, std::set<std::string>{"silu_f32__scalar"}}) {
    Session session = Session::create(Graph(graph), {.own_kernels = forced.empty(), .forced_kernels = forced}).value();
    ASSERT_TRUE(session.set_input(0, input));
    ASSERT_TRUE(session.run());
    const auto& steps = session.plan().steps;
    const auto own = std::ranges::count_if(
        steps, [](const StepInfo& step) { return step.kernel && step.kernel->name.starts_with("silu"); });
    EXPECT_LE(own, forced.empty() ? 1 : 2);
    EXPECT_GE(own, forced.empty() ? 0 : 2);
    const Tensor found = session.get_output(0);
    for (std::size_t i = 0; i < found.data<float>().size(); ++i)
      ASSERT_NEAR(found.data<float>()[i], expected[0].data<float>()[i], 1e-5);
  }
}

// Of what it costs, not of what it takes.
TEST(Silu, LeavesFewNumbersToXnnpack) {
  for (const KernelRow* row : forms({SiluF32{.count = 48}}))
    EXPECT_GE(row->offer({SiluF32{.count = 48}})->cost, 1) << row->name;
}

}  // namespace
}  // namespace kinglet::engine::kernels
