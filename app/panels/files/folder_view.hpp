#pragma once
/// The folder that a typed path is in: its listing, and what the path could become.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "app/panels/panel_context.hpp"

namespace attn::app {

/// "~/x" -> "/home/me/x"
std::string without_tilde(const std::string& path);
/// "/a/b" -> "/a/"; "" where there is no slash.
std::string folder_part(const std::string& path);
/// Asks for the folder's contents when the path has come to name another one.
void keep_listing(PanelContext& context);
/// That of the path's folder; null until it is there.
const FolderListing* listing_of(const PanelContext& context);
/// Files and folders whose names go on from what is typed, or else have it in them, as far as the filter lets them through. Where a file
/// is opened and nothing is typed yet, recent files come first.
void find_completions(PanelContext& context);
/// How names of files of that kind end; none: anything, or for texts what is nothing else.
std::span<const std::string_view> endings_of(FileFilter filter);
/// Whether files of this name are of that kind, by their ending.
bool passes_filter(const std::string& name, FileFilter filter);

}  // namespace attn::app
