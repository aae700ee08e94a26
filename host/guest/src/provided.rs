//! The contract's imports, under the names of every version, with one implementation for all.

use wasmtime::{
    StoreContextMut,
    component::{Linker, LinkerInstance},
};

use super::{
    bindings::segno::workflow::{
        activity, activity_streams, blobs, configuration, costs, files, generations, http_bodies,
        journal, object_promises, sagas, signals, state, streams,
    },
    versions::{VERSIONS, imports, interface},
};

/// The implementation of all imports.
pub(super) trait ImportHost:
    journal::Host
    + sagas::Host
    + state::Host
    + object_promises::Host
    + signals::Host
    + generations::Host
    + streams::Host
    + activity::Host
    + activity_streams::Host
    + costs::Host
    + http_bodies::Host
    + blobs::Host
    + configuration::Host
    + files::Host
    + Send
    + 'static
{
}

impl<T> ImportHost for T where
    T: journal::Host
        + sagas::Host
        + state::Host
        + object_promises::Host
        + signals::Host
        + generations::Host
        + streams::Host
        + activity::Host
        + activity_streams::Host
        + costs::Host
        + http_bodies::Host
        + blobs::Host
        + configuration::Host
        + files::Host
        + Send
        + 'static
{
}

/// Defines functions of an interface: first those with a result, then those without.
macro_rules! functions {
    ($instance:ident, $interface:ident:
        answering {
        $($name:literal = $method:ident($($argument:ident),*);)*
        } silent {
            $($silent:literal = $silent_method:ident($($silent_argument:ident),*);)*
        }
    ) => {
        $($instance.func_wrap($name, |mut store: StoreContextMut<'_, T>, ($($argument,)*)| {
            Ok(($interface::Host::$method(store.data_mut(), $($argument),*)?,))
        })?;)*
        $($instance.func_wrap($silent, |mut store: StoreContextMut<'_, T>, ($($silent_argument,)*)| {
            $interface::Host::$silent_method(store.data_mut(), $($silent_argument),*)
        })?;)*
    };
}

/// Like `functions`, for functions that may wait.
macro_rules! waiting_functions {
    ($instance:ident, $interface:ident:
        answering {
        $($name:literal = $method:ident($($argument:ident),*);)*
        } silent {
            $($silent:literal = $silent_method:ident($($silent_argument:ident),*);)*
        }
    ) => {
        $($instance.func_wrap_async($name, |mut store: StoreContextMut<'_, T>, ($($argument,)*)| {
            Box::new(async move {
                Ok(($interface::Host::$method(store.data_mut(), $($argument),*).await?,))
            })
        })?;)*
        $($instance.func_wrap_async($silent, |mut store: StoreContextMut<'_, T>, ($($silent_argument,)*)| {
            Box::new(async move {
                $interface::Host::$silent_method(store.data_mut(), $($silent_argument),*).await
            })
        })?;)*
    };
}

/// Defines every import of the contract.
pub(super) fn provide<T: ImportHost>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    for version in VERSIONS {
        let mut of =
            |name: &str, define: fn(LinkerInstance<'_, T>) -> wasmtime::Result<()>| match imports(
                name, version,
            ) {
                true => define(linker.instance(&interface(name, version))?),
                false => Ok(()),
            };
        of("types", |_| Ok(()))?;
        of("journal", journal)?;
        of("sagas", sagas)?;
        of("state", state)?;
        of("object-promises", object_promises)?;
        of("signals", signals)?;
        of("generations", generations)?;
        of("streams", streams)?;
        of("activity", activity)?;
        of("activity-streams", activity_streams)?;
        of("costs", costs)?;
        of("http-bodies", http_bodies)?;
        of("blobs", blobs)?;
        of("configuration", configuration)?;
        of("files", files)?;
    }
    Ok(())
}

fn journal<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, journal: answering {
        "call" = call(function, input, options);
        "send" = send(function, input, options);
        "sleep-until" = sleep_until(time_ms);
        "promise" = promise(name, options);
        "settle" = settle(promise_id, outcome);
        "http" = http(request, options);
        "cancel" = cancel(command);
        "publish" = publish(topic, payload);
        "run" = run(name);
        "now" = now();
    } silent {
        "forget" = forget(command);
        "run-done" = run_done(command, outcome);
        "log" = log(level, message);
        "finish" = finish(outcome);
    } }
    Ok(())
}

fn sagas<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, sagas: answering {
        "call" = call(function, input, options, step);
        "http" = http(request, options, step);
        "undo" = undo(step, input, options);
        "ask" = ask(step);
    } silent {
    } }
    Ok(())
}

fn signals<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, signals: answering {
        "send" = send(invocation, name, payload);
    } silent {
        "unread" = unread(told);
    } }
    Ok(())
}

fn generations<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, generations: answering {
    } silent {
        "continue-as-new" = continue_as_new(input, same_code);
    } }
    Ok(())
}

fn state<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, state: answering {
        "key" = key();
        "get" = get(name);
        "names" = names();
        "set" = set(name, value);
        "clear" = clear(name);
        "clear-all" = clear_all();
    } silent {
    } }
    Ok(())
}

fn object_promises<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, object_promises: answering {
        "wait" = wait(name);
        "peek" = peek(name);
        "settle" = settle(name, outcome);
    } silent {
    } }
    Ok(())
}

fn streams<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, streams: answering {
        "append" = append(name, content_type, item);
        "close" = close(name, content_type);
    } silent {
    } }
    Ok(())
}

fn activity_streams<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    waiting_functions! { instance, activity_streams: answering {
        "kept" = kept(name);
        "append" = append(name, content_type, item);
    } silent {
    } }
    Ok(())
}

fn costs<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, costs: answering {
        "report" = report(unit, millionths);
    } silent {
    } }
    Ok(())
}

fn http_bodies<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    waiting_functions! { instance, http_bodies: answering {
        "open" = open(request);
        "read" = read(response, limit);
    } silent {
        "close" = close(response);
    } }
    Ok(())
}

fn blobs<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    waiting_functions! { instance, blobs: answering {
        "create" = create(content_type);
        "write" = write(writer, piece);
        "finish" = finish(writer);
        "read" = read(reference, offset, length);
    } silent {
        "abandon" = abandon(writer);
    } }
    Ok(())
}

fn activity<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    waiting_functions! { instance, activity: answering {
        "heartbeat" = heartbeat(progress);
        "http" = http(request);
    } silent {
        "log" = log(level, message);
    } }
    Ok(())
}

fn configuration<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    functions! { instance, configuration: answering {
        "env" = env(name);
        "secret" = secret(name);
    } silent {
    } }
    Ok(())
}

fn files<T: ImportHost>(mut instance: LinkerInstance<'_, T>) -> wasmtime::Result<()> {
    waiting_functions! { instance, files: answering {
        "read" = read(path, offset, length);
        "write" = write(path, content);
        "append" = append(path, content);
        "list-directory" = list_directory(path);
        "remove" = remove(path);
    } silent {
    } }
    Ok(())
}
