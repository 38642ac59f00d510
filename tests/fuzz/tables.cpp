// SPDX-License-Identifier: Apache-2.0
#include "visits/tables.h"

#include "engine/base/check.h"
#include "tests/fuzz/targets.h"
#include "visits/names/match.h"
#include "visits/names/pasted.h"
#include "visits/taxa.h"

namespace kinglet::fuzz {

void tables(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  static_cast<void>(visits::SpeciesList::parse(text, "list"));
  const auto pasted = visits::read_pasted_list(text, "pasted");
  if (pasted && pasted->form != visits::PastedForm::kLines) {
    KINGLET_CHECK(visits::SpeciesList::parse(pasted->text, "made of it").has_value());
  }
  const auto rows = visits::parse_species_table(text, "table");
  if (!rows) return;
  static const engine::Labels kLabels =
      engine::Labels::parse("Turdus merula (Blackbird)\nJay (male)\nJay (female)\nApus apus apus\nbackground\n", "l")
          .value();
  const Result<visits::Taxa> taxa = visits::Taxa::make(kLabels, *rows);
  if (!taxa) return;
  for (std::uint32_t i = 0; i < taxa->size(); ++i) {
    KINGLET_CHECK(i >= taxa->leaf_count() || !(*taxa)[i].classes.empty());
    KINGLET_CHECK(taxa->within(i, i));
  }
  if (pasted) {
    if (const auto list = visits::SpeciesList::parse(pasted->text, "list"))
      static_cast<void>(visits::match(*list, *taxa));
  }
}

}  // namespace kinglet::fuzz
