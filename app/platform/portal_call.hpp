#pragma once
/// One question to the portal by which desktops lend programs their file dialog:
/// https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.FileChooser.html

#include <chrono>
#include <functional>
#include <string>

#include "app/session/files/desktop_dialog.hpp"

namespace attn::app {

/// How long the portal may take to say that it has heard; the person may then take any time.
inline constexpr std::chrono::milliseconds kPortalPatience{5000};

struct PortalCall {
    std::string address;             ///< of the session bus
    std::function<bool()> given_up;  ///< true: the dialog is closed, and Cancelled is the answer
    std::chrono::milliseconds patience = kPortalPatience;
};

/// The version of the portal's file dialog; 0 where there is none. Waits.
unsigned portal_version(const PortalCall& call);

/// Shows the dialog and waits for its answer.
DesktopAnswer ask_portal(const PortalCall& call, const DesktopQuestion& question);

}  // namespace attn::app
