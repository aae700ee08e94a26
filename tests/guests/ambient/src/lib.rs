//! A workflow that uses files and sockets, as code ported from another platform does. The component
//! imports the parts of WASI that it calls. A Segno host accepts the deployment and refuses the
//! calls.

use segno::{Context, Result};

mod wasi {
    wit_bindgen::generate!({
        inline: r#"
            package tests:ambient;

            world ambient {
                import wasi:filesystem/preopens@0.2.0;
                import wasi:sockets/instance-network@0.2.0;
            }

            package wasi:filesystem@0.2.0 {
                interface types {
                    enum descriptor-type {
                        unknown, block-device, character-device, directory, fifo, symbolic-link, regular-file, socket
                    }
                    enum error-code {
                        access, would-block, already, bad-descriptor, busy, deadlock, quota, exist, file-too-large,
                        illegal-byte-sequence, in-progress, interrupted, invalid, io, is-directory, loop,
                        too-many-links, message-size, name-too-long, no-device, no-entry, no-lock,
                        insufficient-memory, insufficient-space, not-directory, not-empty, not-recoverable,
                        unsupported, no-tty, no-such-device, overflow, not-permitted, pipe, read-only, invalid-seek,
                        text-file-busy, cross-device
                    }
                    flags path-flags { symlink-follow }
                    flags open-flags { create, directory, exclusive, truncate }
                    flags descriptor-flags {
                        read, write, file-integrity-sync, data-integrity-sync, requested-write-sync, mutate-directory
                    }
                    resource descriptor {
                        open-at: func(
                            path-flags: path-flags, path: string, open-flags: open-flags, %flags: descriptor-flags
                        ) -> result<descriptor, error-code>;
                    }
                }
                interface preopens {
                    use types.{descriptor};
                    get-directories: func() -> list<tuple<descriptor, string>>;
                }
            }

            package wasi:sockets@0.2.0 {
                interface network { resource network; }
                interface instance-network {
                    use network.{network};
                    instance-network: func() -> network;
                }
            }
        "#,
        world: "tests:ambient/ambient",
        generate_all,
    });
}

use wasi::wasi::filesystem::{
    preopens::get_directories,
    types::{DescriptorFlags, OpenFlags, PathFlags},
};
use wasi::wasi::sockets::instance_network::instance_network;

/// Opens a file.
#[segno::workflow]
pub async fn read(_ctx: Context, path: String) -> Result<bool> {
    let directories = get_directories();
    let opened = directories.iter().any(|(directory, _)| {
        directory
            .open_at(PathFlags::empty(), &path, OpenFlags::empty(), DescriptorFlags::READ)
            .is_ok()
    });
    Ok(opened)
}

/// Requests the network capability.
#[segno::workflow]
pub async fn dial(_ctx: Context, _address: String) -> Result<bool> {
    let _network = instance_network();
    Ok(true)
}

/// Uses neither files nor sockets.
#[segno::workflow]
pub async fn abstain(_ctx: Context, _input: ()) -> Result<bool> {
    Ok(true)
}

segno::module!(read, dial, abstain);
