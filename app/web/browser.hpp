#pragma once
/// What the browser lends the page. Main thread only; page.js has the other half.

#include <functional>
#include <string>
#include <string_view>

namespace attn::app::browser {

/// False under node.
bool is_here();

struct Size {
    int width = 0, height = 0;
    bool operator==(const Size&) const = default;
};
/// The page's size in CSS pixels.
Size page_size();

void set_cursor(const char* css_name);
void copy(const char* text);
/// The text of the last paste event, which comes before the frame that asks for it.
std::string pasted();
/// Puts a link to this page on the clipboard that holds the document, and tells `then` how that went, in a sentence.
void copy_link(const std::string& document_json, std::function<void(std::string_view)> then);

/// Shows the browser's dialog. `then` gets the path of the file or folder, copied into the page's own memory; "" if none was chosen.
void choose(bool folder, const std::string& endings, std::function<void(std::string_view)> then);
/// `taken` gets the path of every file or folder that is dropped on the page, copied in the same way.
void on_drop(std::function<void(std::string_view)> taken);
/// Saves a file of the page's memory as a download.
void download(const std::string& path);

/// Whether an on-screen keyboard is to be there, if the visitor uses one.
void type(bool wanted);

/// Replaces the page by a sentence that says why it has ended.
void end_with(const std::string& why);
/// The window has been drawn for the first time.
void show();

}  // namespace attn::app::browser
