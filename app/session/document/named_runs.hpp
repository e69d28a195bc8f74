#pragma once
/// The training runs that a document names, its model's and those of its pinned states, and the one that it is a part of.

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>

#include "app/session/document/document.hpp"

namespace attn::app {

/// By run, the steps of it that are named; the newest is not among them.
using NamedRuns = std::map<std::uint64_t, std::set<std::int64_t>>;
NamedRuns named_runs(const Document& document);

/// Gives the runs other numbers. What `numbers` does not list stays as it is.
void renumber_runs(Document& document, const std::map<std::uint64_t, std::uint64_t>& numbers);

/// The numbers of runs in a document that could not be opened are from here on, so that no run of the session ever has them.
inline constexpr std::uint64_t kFirstMissingRun = std::uint64_t{1} << 62;
/// The number of such a run, by its number in the file.
inline std::uint64_t missing_run(std::uint64_t run_in_file) { return kFirstMissingRun | run_in_file; }
inline bool is_missing(std::uint64_t run) { return run >= kFirstMissingRun; }
/// None of its runs is there: what is computed of them says so. Nothing else may take their place.
void mark_runs_missing(Document& document);

/// The file of the document that is saved as part of the run in a folder.
std::filesystem::path run_document(const std::filesystem::path& run_folder);
/// The folder of the run that a document is a part of; empty if it is a file of its own.
std::filesystem::path run_folder_of(const std::filesystem::path& document);
/// What the user knows as the document: that folder, or its own file.
std::filesystem::path known_as(const std::filesystem::path& document);

}  // namespace attn::app
