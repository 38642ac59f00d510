# SPDX-License-Identifier: Apache-2.0
# What is installed besides the programs (their own folders install those). The component "camera" is the Debian
# package kinglet-camera; everything else is kinglet.
set(unit_folder lib/systemd/system)
install(FILES systemd/kingletd.service DESTINATION ${unit_folder})
install(FILES systemd/kinglet.sysusers DESTINATION lib/sysusers.d RENAME kinglet.conf)
install(FILES systemd/60-kinglet-dma-heap.rules DESTINATION lib/udev/rules.d COMPONENT camera)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kinglet RENAME changelog)
# The picture of the README has photographs of others, under licences of theirs.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kinglet PATTERN page.png EXCLUDE)
install(CODE "set(source \"${CMAKE_SOURCE_DIR}/README.md\")
set(target \"\$ENV{DESTDIR}${CMAKE_INSTALL_FULL_DATADIR}/doc/kinglet/README.md\")
include(\"${CMAKE_SOURCE_DIR}/cmake/installed_readme.cmake\")")
# /etc/kinglet is the owner's: a file of ours there that an owner changed would stop every update with a question.
install(FILES config/kinglet.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kinglet)
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/kinglet/conf.d)
install(FILES models/catalogue.json DESTINATION ${CMAKE_INSTALL_DATADIR}/kinglet)
install(DIRECTORY models/demo DESTINATION ${CMAKE_INSTALL_DATADIR}/kinglet/models
  FILES_MATCHING PATTERN "*.onnx" PATTERN "*.json" PATTERN "*.txt")
