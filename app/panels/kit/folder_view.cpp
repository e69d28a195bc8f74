#include "app/panels/kit/folder_view.hpp"

#include <algorithm>
#include <array>

#include "app/panels/kit/lower_case.hpp"

namespace attn::app {
namespace {

constexpr std::size_t kRecentOffered = 4;

}  // namespace

std::string folder_part(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

void end_refusal_of_path(PanelContext& context, bool changed) {
    if (changed && context.view.files.notices.shows_error()) context.commands.push_back({command::EndNotice{}, ""});
}

void keep_listing(PanelContext& context) {
    FileView& view = context.view.files;
    const std::string folder = without_tilde(folder_part(view.path.text));
    if (view.listed == folder) return;
    view.listed = folder;
    context.commands.push_back({command::ListFolder{folder}, ""});
}

const FolderListing* listing_of(const PanelContext& context) {
    const FilesState& files = context.files;
    const bool fits = files.listing != nullptr && context.view.files.listed && files.listing->folder == *context.view.files.listed;
    return fits ? files.listing.get() : nullptr;
}

FileFilter filter_in_force(const FileView& view) {
    if (view.task == FileTask::Open) return view.filter;
    switch (view.task) {
    case FileTask::Beside:
    case FileTask::Model:
        return FileFilter::Models;
    case FileTask::Dump:
        return FileFilter::Tensors;
    case FileTask::TrainingText:
        return FileFilter::Texts;
    default:
        return FileFilter::All;
    }
}

std::span<const std::string_view> endings_of(FileFilter filter) {
    static constexpr std::array<std::string_view, 2> kModels = {".safetensors", ".gguf"}, kTensors = {".safetensors", ".npz"};
    static constexpr std::array<std::string_view, 1> kDocuments = {".json"};
    switch (filter) {
    case FileFilter::Models:
        return kModels;
    case FileFilter::Documents:
        return kDocuments;
    case FileFilter::Tensors:
        return kTensors;
    case FileFilter::All:
    case FileFilter::Texts:
        break;
    }
    return {};
}

bool passes_filter(const std::string& name, FileFilter filter) {
    static constexpr std::array<std::string_view, 8> kNoTexts = {".safetensors", ".gguf", ".json", ".npz", ".npy", ".png", ".svg", ".csv"};
    const std::string ending = std::filesystem::path(name).extension().string();
    const auto is = [&](std::span<const std::string_view> endings) {
        return std::find(endings.begin(), endings.end(), ending) != endings.end();
    };
    if (filter == FileFilter::Texts) return !is(kNoTexts);
    return filter == FileFilter::All || is(endings_of(filter));
}

void find_completions(PanelContext& context) {
    PathField& field = context.view.files.path;
    field.completions.clear();
    const bool opens = chooses_file(context.view.files.task);
    // In the folder that the sheet opens with, recent files from everywhere come first; below another one, those in it.
    const std::string below = field.text == context.view.files.opened_at ? "" : without_tilde(field.text);
    const FileFilter filter = filter_in_force(context.view.files);
    const std::string folder = folder_part(field.text), begun = lower_case(field.text.substr(folder.size()));
    if (opens && begun.empty())
        for (const std::string& recent : context.files.recent)
            // Those of the folder itself are listed below.
            if (field.completions.size() < kRecentOffered && passes_filter(recent, filter) && recent.starts_with(below) &&
                folder_part(recent) != without_tilde(folder))
                field.completions.push_back(recent);
    const FolderListing* listing = listing_of(context);
    if (listing == nullptr) return;
    const auto add_where = [&](auto matches) {
        for (const FolderListing::Entry& entry : listing->entries)
            if ((entry.folder || passes_filter(entry.name, filter)) && (begun.starts_with('.') || !entry.hidden()) &&
                matches(lower_case(entry.name)))
                field.completions.push_back(folder + entry.name + (entry.folder ? "/" : ""));
    };
    add_where([&](const std::string& name) { return name.starts_with(begun); });
    if (opens && field.completions.empty()) add_where([&](const std::string& name) { return name.find(begun) != std::string::npos; });
}

}  // namespace attn::app
