// SPDX-License-Identifier: Apache-2.0
// Why: the configuration as the small options of each part, the same for the daemon and for `kinglet replay`.
#pragma once

#include "camera/source/source.h"
#include "config/config.h"
#include "daemon/line/frame_line.h"
#include "daemon/line/gate/schedule.h"
#include "engine/base/local_time.h"
#include "store/options.h"

namespace kinglet::daemon {

// kNotFound: no model is named and the demonstration model is not installed.
[[nodiscard]] Result<LineModelOptions> line_model_options(const config::Config& config);
// Without a path where none is wished.
[[nodiscard]] LineDetectorOptions line_detector_options(const config::Config& config);
[[nodiscard]] engine::Precision model_precision(const config::Config& config);
// Names of birds, for whatever model: the owner's, or those that were sent over HTTP.
[[nodiscard]] visits::TableFiles name_tables(const config::Config& config);
// systemd's StateDirectory=, or the one of the configuration. Empty: the state lives in memory.
[[nodiscard]] std::filesystem::path state_folder_of(const config::Config& config);
// Where models lie that the running daemon can change to; empty: nowhere.
[[nodiscard]] std::filesystem::path model_folder(const config::Config& config,
                                                 const std::filesystem::path& state_folder);
// Reads the lists of birds: kNotFound, kBadData.
[[nodiscard]] Result<LineOptions> line_options(const config::Config& config);
// Parts of line_options: kConfig, and of the lists kNotFound and kBadData.
[[nodiscard]] Result<std::optional<visits::SpeciesList>> region_of(const config::Config& config);
// The list that was sent over HTTP, which counts where the configuration names none. Nothing: there is none, or none
// that can be read, which is no reason not to start.
[[nodiscard]] std::optional<visits::SpeciesList> kept_region(const config::Config& config);
[[nodiscard]] Result<Schedule> schedule_of(const config::Config& config);
[[nodiscard]] Result<RegionOptions> region_options(const config::Config& config);
// kConfig: there is no such time zone.
[[nodiscard]] Result<TimeZone> zone_of(const config::Config& config);
[[nodiscard]] Result<store::StoreOptions> store_options(const config::Config& config, LogSink log);
// Of the first camera, unless config::of_camera made it another one's.
[[nodiscard]] camera::SourceOptions source_options(const config::Config& config, LogSink log);

}  // namespace kinglet::daemon
