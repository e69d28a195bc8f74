#pragma once
/// The listing of a typed path's folder, and its completions.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "app/panels/kit/panel_context.hpp"
#include "engine/io/home_path.hpp"

namespace attn::app {

/// "/a/b" -> "/a/"; "" if there is no slash.
std::string folder_part(const std::string& path);
/// A typed path that was refused is `changed`: the notice about it goes.
void end_refusal_of_path(PanelContext& context, bool changed);
/// Requests the folder's contents when the path's folder changes.
void keep_listing(PanelContext& context);
/// The listing of the path's folder; null until it is ready.
const FolderListing* listing_of(const PanelContext& context);
/// Finds files and folders that start with the typed name or, failing that, contain it, and pass the filter. When opening with no
/// name typed yet, recent files come first: all of them, or those below the typed folder.
void find_completions(PanelContext& context);
/// The filter in force: the chosen one when any file can be opened, otherwise that of the task.
FileFilter filter_in_force(const FileView& view);
/// The file name endings of a filter; empty: any file or, for texts, files of no other kind.
std::span<const std::string_view> endings_of(FileFilter filter);
/// Whether a file passes a filter, judged by the ending of its name.
bool passes_filter(const std::string& name, FileFilter filter);

}  // namespace attn::app
