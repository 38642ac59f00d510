// SPDX-License-Identifier: Apache-2.0
// Why: what people read about the keys: the annotated default file, the table of the documentation, the state in force.

#include "config/config.h"
#include "engine/base/format.h"
#include "engine/base/words.h"

namespace kinglet::config {
namespace {

struct SectionRow {
  std::string_view name;
  std::string_view help;
};
constexpr SectionRow kSections[] = {
#define KINGLET_SECTION(Type, member, help_) {#member, help_},
#define KINGLET_KEY(...)
#define KINGLET_SECTION_END(...)
#include "config/keys.def"
#undef KINGLET_SECTION
#undef KINGLET_KEY
#undef KINGLET_SECTION_END
};

constexpr std::string_view kHeader = R"(# The configuration of kinglet: every key with its default, commented out.
# Made by `kinglet config default`; `kinglet config check` says what is wrong, `kinglet config show` what is in force.
# This list is another one in each version: write what you want otherwise into /etc/kinglet/conf.d/mine.toml.
# Read in this order, the last one counts: /etc/kinglet/kinglet.toml, /etc/kinglet/conf.d/*.toml by name, variables such as
# KINGLET_HTTP__LISTEN, --set http.listen=... on the command line. A key that does not exist or a value out of range
# stops the start.
)";

std::string_view reload_text(Reload reload) {
  using enum Reload;
  static constexpr Word<Reload> kWords[] = {{kLive, "a reload takes it up at once"},
                                            {kPipeline, "a reload takes it up between two frames"},
                                            {kCamera, "a reload starts the camera again with it"},
                                            {kRestart, "needs a restart"},
                                            {kNever, "without effect"}};
  return word_of(kWords, reload);
}

std::string unit_text(const Key& key) { return key.unit.empty() ? "" : format_text(" ({})", key.unit); }

}  // namespace

std::string default_file() {
  std::string out(kHeader);
  for (const SectionRow& section : kSections) {
    // A live [[source]] would already be an entry; the other headers are harmless when empty.
    const bool list = section.name == "source";
    out += format_text("\n# {}\n{}\n", section.help, list ? "#[[source]]" : format_text("[{}]", section.name));
    if (list) {
      out +=
          "# Another [[source]] below it is another camera. It takes the keys of [source] and [camera], and region,\n"
          "# fixed and masks, which are gate.region, look.fixed and privacy.masks of its own picture.\n";
    }
    for (const Key& key : key_table()) {
      if (key.section != section.name || key.reload == Reload::kNever) continue;
      out += format_text("# {}\n#   {}{}; {}\n#{} = {}\n", key.help, key.expectation, unit_text(key),
                         reload_text(key.reload), key.name, key.default_text);
    }
  }
  out += "\n# Messages to a phone, one table a service (docs/phone.md); a reload takes them up at once.\n#[[notify]]\n";
  for (const NotifyKey& key : notify_keys()) {
    out += format_text("# {}\n#   {}\n#{} = {}\n", key.help, key.expectation, key.name, key.default_text);
  }
  return out;
}

std::string docs() {
  std::string out =
      "| key | default | value | takes effect | set | what it does |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const Key& key : key_table()) {
    out += format_text("| `{}` | `{}` | {}{} | {} | {} | {} |\n", key.full_name(), key.default_text, key.expectation,
                       unit_text(key), to_string(key.reload), key.settable ? "file, page" : "file", key.help);
  }
  for (const NotifyKey& key : notify_keys()) {
    out += format_text("| `[[notify]]` `{}` | `{}` | {} | live | {} | {} |\n", key.name, key.default_text,
                       key.expectation, key.settable ? "file, page" : "file", key.help);
  }
  return out;
}

std::string settings_text(const Settings& settings) {
  std::string out =
      "# Written by kingletd: what was set on its page or over HTTP. It counts where the files of /etc/kinglet say\n"
      "# nothing: to keep a value for good, move its line to /etc/kinglet/conf.d/mine.toml.\n";
  for (const auto& [key, value] : settings) out += format_text("{} = {}\n", key, toml_text(value));
  return out;
}

std::string show(const Loaded& loaded) {
  const std::vector<FurtherSource>& further = loaded.config.further_sources;
  std::string out;
  for (const SectionRow& section : kSections) {
    const bool list = section.name == "source" && !further.empty();
    out += format_text("{}{}{}{}\n", out.empty() ? "" : "\n", list ? "[[" : "[", section.name, list ? "]]" : "]");
    for (std::size_t i = 0; i < key_table().size(); ++i) {
      const Key& key = key_table()[i];
      if (key.section != section.name) continue;
      out += format_text("{} = {}  # {}\n", key.name, toml_text(key.value(loaded.config)), loaded.origins[i]);
    }
    if (!list) continue;
    for (const FurtherSource& source : further) out += format_text("\n# {}\n{}", source.place, source_text(source));
  }
  for (const Notify& notify : loaded.config.notify) out += format_text("\n# {}\n{}", notify.place, notify_text(notify));
  return out;
}

}  // namespace kinglet::config
