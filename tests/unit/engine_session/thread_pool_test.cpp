// SPDX-License-Identifier: Apache-2.0
// Why: sessions share the workers of one pool, also at once.
#include "engine/session/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "engine/session/session.h"
#include "engine/threads/small_runs.h"
#include "tests/support/graph_of.h"
#include "tests/support/graph_text.h"
#include "tests/support/threads_since.h"

namespace kinglet::engine {
namespace {

constexpr int kThreads = 2;

Session open(const std::shared_ptr<const ThreadPool>& pool, std::set<std::string> disabled = {}) {
  return Session::open(KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx",
                       {.threads = kThreads, .pool = pool, .disabled_lowerings = std::move(disabled)})
      .value();
}

// The scores of a picture that differs with `shade`.
std::vector<float> answer(Session& session, float shade) {
  Tensor picture(DataType::kF32, session.inputs()[0].shape);
  std::ranges::fill(picture.mutable_data<float>(), shade);
  EXPECT_TRUE(session.set_input(0, picture));
  EXPECT_TRUE(session.run());
  return session.get_output(0).to_floats();
}

TEST(ThreadPoolTest, ASecondSessionBringsNoThreadsOfItsOwn) {
  const ThreadsSince before;
  const auto pool = ThreadPool::make(kThreads).value();
  Session first = open(pool);
  Session second = open(pool);
  EXPECT_EQ(before.begun(), std::size_t{kThreads - 1});
}

TEST(ThreadPoolTest, OneThreadIsTheCallersAlone) {
  const ThreadsSince before;
  const auto pool = ThreadPool::make(1).value();
  EXPECT_EQ(pool->get(), nullptr);
  EXPECT_EQ(before.begun(), 0U);
  EXPECT_FALSE(ThreadPool::make(0));
  pool->rest();
}

TEST(ThreadPoolTest, APlanThatEndsWithAKernelOfOursAnswersAgainAfterItsWorkersRested) {
  Graph graph = parse_text("%x = input f32[1,5000]\n%1 = Sqrt(%x)\n%2 = kinglet::Silu(%1)\noutput %2\n").value().graph;
  const auto run = [&](int threads) {
    Session session =
        Session::create(
            Graph(graph),
            {.threads = threads, .optimize = false, .own_kernels = false, .forced_kernels = {"silu_f32__scalar"}})
            .value();
    EXPECT_EQ(session.plan().steps.back().backend, "kinglet");
    Tensor x(DataType::kF32, {1, 5000});
    const auto numbers = x.mutable_data<float>();
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    EXPECT_TRUE(session.set_input(0, x));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(session.run());
    return session.get_output(0).to_floats();
  };
  EXPECT_EQ(run(kThreads), run(1));
}

// 49 rows are no multiple of what threads and kernels take: several threads share out columns that one takes in blocks.
TEST(ThreadPoolTest, LayersOfFewRowsAndLargeWeightsHaveTheSameBitsWithOneToFourThreads) {
  const Graph graph = graph_of(R"(
%x = input f32[1,64,7,7]
%1 = Conv(%x, w:f32[512,64,3,3]#a, b:f32[512]#b) {kernel_shape=[3,3], pads=[1,1,1,1]}
%2 = Reshape(%1, s:i64[2]{49,512})
%3 = MatMul(%2, m:f32[512,600]#c)
output %1
output %3
)");
  const auto run = [&](int threads) {
    Session session = Session::create(Graph(graph), {.threads = threads, .own_kernels = false}).value();
    EXPECT_TRUE(session.set_input(0, seeded_tensor(DataType::kF32, {1, 64, 7, 7}, "picture")));
    EXPECT_TRUE(session.run());
    return std::pair(session.get_output(0), session.get_output(1));
  };
  const auto [convolved, multiplied] = run(1);
  for (int threads = 2; threads <= 4; ++threads) {
    const auto [other, product] = run(threads);
    EXPECT_TRUE(other.bit_equal(convolved)) << threads;
    EXPECT_TRUE(product.bit_equal(multiplied)) << threads;
  }
}

// Some of its first runs are tried alone, with the same bits: that says nothing yet of what pays.
TEST(ThreadPoolTest, WhatAModelTriesAloneDoesNotCountAsWhatPays) {
  const auto pool = ThreadPool::make(kThreads).value();
  Session session = open(pool);
  const std::vector<float> scores = answer(session, 0.4F);
  std::size_t runs = 1;
  for (; session.is_trying(); ++runs) ASSERT_EQ(answer(session, 0.4F), scores);
  EXPECT_GT(runs, SmallRuns::kTried) << "some before them";
  const PoolFacts facts = pool->facts();
  EXPECT_GT(facts.shared, 0U);
  EXPECT_TRUE(facts.alone == 0 || facts.pauses > 0) << facts.alone;
  EXPECT_FALSE(open(ThreadPool::make(1).value()).is_trying());
}

TEST(ThreadPoolTest, SessionsThatRunAtOnceOnItAnswerAsAlone) {
  const auto pool = ThreadPool::make(kThreads).value();
  Session first = open(pool);
  Session second = open(pool, {"Relu", "Add", "MaxPool"});  // in other segments, too
  const std::vector<float> dark = answer(first, 0.1F);
  const std::vector<float> bright = answer(second, 0.9F);
  const std::jthread aside([&] {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(answer(second, 0.9F), bright);
  });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(answer(first, 0.1F), dark);
}

}  // namespace
}  // namespace kinglet::engine
