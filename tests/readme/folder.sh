# Sourced by the scripts in this folder.

# enter_folder TOOL: changes into a new folder, puts the tool on the path as `cinnabar`, and sets $work to the folder
# and $address to an address of this machine that no other run uses. At the end, the folder is removed and background
# jobs are ended.
enter_folder() {
    local tool
    tool=$(realpath "$1")
    work=$(mktemp -d)
    trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
    cd "$work"
    mkdir bin
    ln -s "$tool" bin/cinnabar
    PATH=$work/bin:$PATH
    address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).1  # all of 127/8 is this machine
}
