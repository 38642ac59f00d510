// SPDX-License-Identifier: Apache-2.0
// Why: member "boxes" of a recipe: an object of its own, each member one row of the table below.
#include "engine/recipe/box_recipe.h"

#include <algorithm>
#include <array>

#include "engine/recipe/recipe_members.h"

namespace kinglet::engine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using namespace recipe_members;

constexpr std::array kHeadNames{
#define KINGLET_BOX_HEAD(id, name, reader) std::string_view(name),
#include "engine/recipe/box_heads.def"
#undef KINGLET_BOX_HEAD
};
constexpr std::array<std::string_view, 3> kOrderNames{"xyxy", "yxyx", "center"};
constexpr std::array<std::string_view, 2> kUnitNames{"pixels", "shares"};

Result<void> read_strides(const Member& member, const json& value, BoxRecipe& boxes) {
  constexpr std::string_view kExpected = "one to eight whole numbers from 1 to 1024";
  if (!value.is_array() || value.empty() || value.size() > 8) return wrong(member, value, kExpected);
  std::vector<int> strides;
  for (const json& one : value) {
    if (!read_whole(member, one, 1, 1024, kExpected, strides.emplace_back())) return wrong(member, value, kExpected);
  }
  boxes.strides = std::move(strides);
  return {};
}

Result<void> read_bins(const Member& member, const json& value, BoxRecipe& boxes) {
  return read_whole(member, value, 2, 256, "a whole number from 2 to 256 (reg_max + 1)", boxes.bins);
}

template <auto kMember>
Result<void> read_share(const Member& member, const json& value, BoxRecipe& boxes) {
  if (!value.is_number() || !(value.get<double>() >= 0) || value.get<double>() > 1) {
    return wrong(member, value, "a number from 0 to 1");
  }
  boxes.*kMember = value.get<double>();
  return {};
}

template <auto kMember, const auto& kNames>
Result<void> read_named(const Member& member, const json& value, BoxRecipe& boxes) {
  using Choice = std::remove_reference_t<decltype(boxes.*kMember)>;
  boxes.*kMember = static_cast<Choice>(KINGLET_TRY(read_choice(member, value, kNames)));
  return {};
}

template <const auto& kNames, typename Choice>
ordered_json name_of(Choice choice) {
  return std::string(kNames[static_cast<std::size_t>(choice)]);
}

struct MemberRow {
  std::string_view name;
  Result<void> (*read)(const Member&, const json&, BoxRecipe&);
  ordered_json (*write)(const BoxRecipe&);
};

constexpr MemberRow kMembers[] = {
    {"head", read_named<&BoxRecipe::head, kHeadNames>,
     [](const BoxRecipe& boxes) { return name_of<kHeadNames>(boxes.head); }},
    {"strides", read_strides, [](const BoxRecipe& boxes) { return ordered_json(boxes.strides); }},
    {"bins", read_bins, [](const BoxRecipe& boxes) { return ordered_json(boxes.bins); }},
    {"center", read_share<&BoxRecipe::center>, [](const BoxRecipe& boxes) { return ordered_json(boxes.center); }},
    {"order", read_named<&BoxRecipe::order, kOrderNames>,
     [](const BoxRecipe& boxes) { return name_of<kOrderNames>(boxes.order); }},
    {"unit", read_named<&BoxRecipe::unit, kUnitNames>,
     [](const BoxRecipe& boxes) { return name_of<kUnitNames>(boxes.unit); }},
    {"least_score", read_share<&BoxRecipe::least_score>,
     [](const BoxRecipe& boxes) { return ordered_json(boxes.least_score); }},
    {"most_overlap", read_share<&BoxRecipe::most_overlap>,
     [](const BoxRecipe& boxes) { return ordered_json(boxes.most_overlap); }},
};

std::unexpected<Error> unknown_boxes_member(std::string_view name, std::string_view where) {
  std::vector<std::string_view> names;
  for (const MemberRow& row : kMembers) names.push_back(row.name);
  return unknown_member(name, where, names);
}

}  // namespace

std::string_view to_string(BoxHead head) { return kHeadNames[static_cast<std::size_t>(head)]; }

namespace recipe_members {

Result<void> read_boxes(const Member& member, const json& value, std::optional<BoxRecipe>& boxes) {
  if (!value.is_object() || (!boxes && !value.contains("head"))) {
    return wrong(member, value, "an object with a \"head\", as {\"head\": \"yolox\"}");
  }
  BoxRecipe read = boxes.value_or(BoxRecipe{});
  for (const auto& [name, of_name] : value.items()) {
    const auto* row = std::ranges::find(kMembers, name, &MemberRow::name);
    if (row == std::end(kMembers)) return unknown_boxes_member(name, member.where);
    KINGLET_TRY(row->read({row->name, member.where}, of_name, read));
  }
  boxes = std::move(read);
  return {};
}

ordered_json write_boxes(const BoxRecipe& boxes) {
  ordered_json out = ordered_json::object();
  for (const MemberRow& row : kMembers) out[std::string(row.name)] = row.write(boxes);
  return out;
}

}  // namespace recipe_members
}  // namespace kinglet::engine
