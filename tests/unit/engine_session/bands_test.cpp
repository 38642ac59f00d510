// SPDX-License-Identifier: Apache-2.0
// A layer of single pixels and the depthwise layer behind it run in bands of rows: the value between is never there as
// a whole, and the bits are those of the two layers one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <format>

#include "engine/session/session.h"
#include "tests/support/graph_text.h"

namespace kinglet::engine {
namespace {

struct Form {
  int height, width, channels, wide;
  int side, stride;
  const char* pads;
};

constexpr Form kForms[]{{112, 112, 16, 96, 3, 2, "[1,1,1,1]"}, {112, 112, 16, 96, 3, 2, "[0,0,1,1]"},
                        {73, 61, 8, 128, 3, 1, "[1,1,1,1]"},   {73, 61, 8, 128, 3, 2, "[1,1,1,1]"},
                        {96, 40, 4, 160, 5, 1, "[2,2,2,2]"},   {97, 40, 4, 160, 5, 2, "[0,0,0,0]"},
                        {64, 64, 8, 144, 2, 2, "[0,0,0,0]"}};

std::string pixels(const Form& form, const char* from) {
  return std::format("%1 = Conv({}, w:f32[{},{},1,1]#w, b:f32[{}]#b)\n%2 = Clip(%1, l:f32[]{{0}}, h:f32[]{{6}})\n",
                     from, form.wide, form.channels, form.wide);
}

std::string windows(const Form& form, const char* from) {
  return std::format("%3 = Conv({}, v:f32[{},1,{},{}]#v, c:f32[{}]#c) {{group={}, pads={}, strides=[{},{}]}}\n", from,
                     form.wide, form.side, form.side, form.wide, form.wide, form.pads, form.stride, form.stride);
}

std::string input(const Form& form, int channels) {
  return std::format("%x = input f32[1,{},{},{}]\n", channels, form.height, form.width);
}

Session session_of(const std::string& text, int threads = 1) {
  SessionOptions options;
  options.threads = threads;
  options.own_kernels = false;  // the same on every processor
  return Session::create(std::move(parse_text(text).value().graph), options).value();
}

Tensor answer_of(Session& session, const Tensor& to) {
  EXPECT_TRUE(session.set_input(0, to));
  EXPECT_TRUE(session.run());
  return session.get_output(0);
}

std::size_t bytes_between(const Form& form) {
  return sizeof(float) * static_cast<std::size_t>(form.height * form.width * form.wide);
}

TEST(Bands, GiveTheBitsOfTheLayersOneAfterTheOther) {
  for (const Form& form : kForms) {
    const std::string name =
        std::format("{}x{}, {}x{} by {} {}", form.height, form.width, form.side, form.side, form.stride, form.pads);
    const Tensor picture = seeded_tensor(DataType::kF32, {1, form.channels, form.height, form.width}, "picture");
    Session first = session_of(input(form, form.channels) + pixels(form, "%x") + "output %2\n");
    Session second = session_of(input(form, form.wide) + windows(form, "%x") + "output %3\n");
    const Tensor expected = answer_of(second, answer_of(first, picture));
    for (const int threads : {1, 3}) {
      Session both =
          session_of(input(form, form.channels) + pixels(form, "%x") + windows(form, "%2") + "output %3\n", threads);
      EXPECT_EQ(both.plan().segments, 1U) << name;
      EXPECT_TRUE(answer_of(both, picture).bit_equal(expected)) << name;
      EXPECT_TRUE(answer_of(both, picture).bit_equal(expected)) << name << ", again";
    }
  }
}

TEST(Bands, KeepAPartOfTheValueBetween) {
  for (const Form& form : kForms) {
    const Session both = session_of(input(form, form.channels) + pixels(form, "%x") + windows(form, "%2") +
                                    std::format("%4 = Conv(%3, u:f32[2,{},1,1]#u)\noutput %4\n", form.wide));
    const auto area = static_cast<std::size_t>(form.stride * form.stride);
    const std::size_t made = bytes_between(form) / area;  // of it
    EXPECT_LT(both.plan().arena_bytes, made + bytes_between(form) * 3 / 4) << form.height << " rows";
  }
}

TEST(Bands, AreNotMadeOfAValueThatIsReadElsewhere) {
  const Form& form = kForms[0];
  const Session session =
      session_of(input(form, form.channels) + pixels(form, "%x") + windows(form, "%2") +
                 "%4 = GlobalAveragePool(%2)\n%5 = GlobalAveragePool(%3)\n%6 = Add(%4, %5)\noutput %6\n");
  EXPECT_GE(session.plan().arena_bytes, bytes_between(form));
}

}  // namespace
}  // namespace kinglet::engine
