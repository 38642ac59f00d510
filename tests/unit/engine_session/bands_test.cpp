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

enum class Arithmetic : std::uint8_t { kFloats, kHalves, kBytes };

struct Form {
  int height, width, channels, wide;
  int side, stride;
  const char* pads;
  Arithmetic arithmetic = Arithmetic::kFloats;
  bool clips = false;  // behind both, too
  int batch = 1;       // of more there are no bands
};

constexpr Form kForms[]{{112, 112, 16, 96, 3, 2, "[1,1,1,1]"},
                        {112, 112, 16, 96, 3, 2, "[0,0,1,1]"},
                        {73, 61, 8, 128, 3, 1, "[1,1,1,1]"},
                        {73, 61, 8, 128, 3, 2, "[1,1,1,1]"},
                        {96, 40, 4, 160, 5, 1, "[2,2,2,2]"},
                        {97, 40, 4, 160, 5, 2, "[0,0,0,0]"},
                        {64, 64, 8, 144, 2, 2, "[0,0,0,0]"},
                        {73, 61, 8, 128, 3, 1, "[1,1,1,1]", Arithmetic::kFloats, true},
                        {112, 112, 4, 96, 3, 2, "[1,1,1,1]", Arithmetic::kHalves},
                        {73, 61, 8, 288, 3, 1, "[1,1,1,1]", Arithmetic::kHalves, true},
                        {112, 112, 16, 192, 3, 2, "[1,1,1,1]", Arithmetic::kBytes},
                        {97, 80, 8, 320, 5, 1, "[2,2,2,2]", Arithmetic::kBytes, true},
                        {112, 112, 16, 96, 3, 2, "[1,1,1,1]", Arithmetic::kFloats, false, 2}};

// Those that this processor has.
std::vector<Form> forms() {
  std::vector<Form> forms(std::begin(kForms), std::end(kForms));
  if (!Session::half_arithmetic())
    std::erase_if(forms, [](const Form& f) { return f.arithmetic == Arithmetic::kHalves; });
  return forms;
}

const char* type_of(const Form& form) { return form.arithmetic == Arithmetic::kBytes ? "i8" : "f32"; }

// A convolution, with a clip at its end if it `clips`; `weights` is their name and shape.
std::string layer(const Form& form, std::string_view to, std::string_view from, std::string_view weights, int outputs,
                  std::string_view attributes, bool clips) {
  const char name = weights.front();
  if (form.arithmetic == Arithmetic::kBytes) {
    return std::format(
        "{} = QLinearConv({}, s:f32[]{{0.1}}, z:i8[]{{-3}}, {}:i8{}#{}, ws:f32[]{{0.002}}, wz:i8[]{{0}}, s, z, "
        "b{}:i32[{}]#b) {{kinglet_integers=1{}, {}}}\n",
        to, from, name, weights.substr(1), name, name, outputs, clips ? ", kinglet_min=0.0, kinglet_max=6.0" : "",
        attributes);
  }
  const std::string made = clips ? std::format("{}0", to) : std::string(to);
  std::string text = std::format("{} = Conv({}, {}:f32{}#{}, b{}:f32[{}]#b) {{{}}}\n", made, from, name,
                                 weights.substr(1), name, name, outputs, attributes);
  if (clips) text += std::format("{} = Clip({}, l:f32[]{{0}}, h:f32[]{{6}})\n", to, made);
  return text;
}

std::string pixels(const Form& form, const char* from) {
  return layer(form, "%2", from, std::format("w[{},{},1,1]", form.wide, form.channels), form.wide, "group=1", true);
}

std::string windows(const Form& form, const char* from) {
  return layer(form, "%3", from, std::format("v[{},1,{},{}]", form.wide, form.side, form.side), form.wide,
               std::format("group={}, pads={}, strides=[{},{}]", form.wide, form.pads, form.stride, form.stride),
               form.clips);
}

std::string input(const Form& form, int channels) {
  return std::format("%x = input {}[{},{},{},{}]\n", type_of(form), form.batch, channels, form.height, form.width);
}

Session session_of(const Form& form, const std::string& text, int threads = 1) {
  SessionOptions options;
  options.threads = threads;
  options.own_kernels = false;  // the same on every processor
  options.half = options.half_everywhere = form.arithmetic == Arithmetic::kHalves;
  return Session::create(std::move(parse_text(text).value().graph), options).value();
}

Tensor answer_of(Session& session, const Tensor& to) {
  EXPECT_TRUE(session.set_input(0, to));
  EXPECT_TRUE(session.run());
  return session.get_output(0);
}

std::size_t bytes_between(const Form& form) {
  const std::size_t each = form.arithmetic == Arithmetic::kFloats ? 4 : form.arithmetic == Arithmetic::kHalves ? 2 : 1;
  return each * static_cast<std::size_t>(form.batch * form.height * form.width * form.wide);
}

std::string text_of(const Form& form) {
  return std::format("{} x {}x{}, {}x{} by {} {}, arithmetic {}", form.batch, form.height, form.width, form.side,
                     form.side, form.stride, form.pads, static_cast<int>(form.arithmetic));
}

TEST(Bands, GiveTheBitsOfTheLayersOneAfterTheOther) {
  for (const Form& form : forms()) {
    const std::string name = text_of(form);
    const DataType type = form.arithmetic == Arithmetic::kBytes ? DataType::kI8 : DataType::kF32;
    const Tensor picture = seeded_tensor(type, {form.batch, form.channels, form.height, form.width}, "picture");
    Session first = session_of(form, input(form, form.channels) + pixels(form, "%x") + "output %2\n");
    Session second = session_of(form, input(form, form.wide) + windows(form, "%x") + "output %3\n");
    const Tensor expected = answer_of(second, answer_of(first, picture));
    for (const int threads : {1, 3}) {
      Session both = session_of(
          form, input(form, form.channels) + pixels(form, "%x") + windows(form, "%2") + "output %3\n", threads);
      EXPECT_EQ(both.plan().segments, 1U) << name;
      EXPECT_TRUE(answer_of(both, picture).bit_equal(expected)) << name;
      EXPECT_TRUE(answer_of(both, picture).bit_equal(expected)) << name << ", again";
    }
  }
}

TEST(Bands, KeepAPartOfTheValueBetween) {
  for (const Form& form : forms()) {
    const Session both = session_of(
        form, input(form, form.channels) + pixels(form, "%x") + windows(form, "%2") +
                  layer(form, "%4", "%3", std::format("u[2,{},1,1]", form.wide), 2, "group=1", false) + "output %4\n");
    const std::size_t whole = bytes_between(form);
    const std::size_t made = whole / static_cast<std::size_t>(form.stride * form.stride);  // of it
    EXPECT_EQ(both.plan().arena_bytes < made + whole * 3 / 4, form.batch == 1)
        << text_of(form) << ": " << both.plan().arena_bytes;
  }
}

TEST(Bands, AreNotMadeOfAValueThatIsReadElsewhere) {
  const Form& form = kForms[0];
  const Session session =
      session_of(form, input(form, form.channels) + pixels(form, "%x") + windows(form, "%2") +
                           "%4 = GlobalAveragePool(%2)\n%5 = GlobalAveragePool(%3)\n%6 = Add(%4, %5)\noutput %6\n");
  EXPECT_GE(session.plan().arena_bytes, bytes_between(form));
}

}  // namespace
}  // namespace kinglet::engine
