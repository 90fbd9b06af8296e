//! shmipc over memfds with eventfd wake-ups, which its documentation recommends for small messages. The rate is of answered
//! messages of many streams at once, as in its own benchmark.

use peers::{fill, sum, Options};
use shmipc::buffer::BufferReader;
use shmipc::session::{SessionManager, SessionManagerConfig};
use shmipc::stream::Stream;
use shmipc::transport::{DefaultUnixConnect, DefaultUnixListen};
use shmipc::{
    config::{Config, SizePercentPair},
    consts::MemMapType,
    Error, Listener,
};
use std::cell::Cell;
use std::os::unix::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

const STREAMS: usize = 64;
const ANSWER: usize = 8;
const BATCH: u32 = 256;

fn configuration(options: &Options) -> SessionManagerConfig {
    let mut config = Config::default().with_v4_eventfd();
    config.queue_cap = 65_536;
    config.connection_write_timeout = Duration::from_secs(1);
    config.share_memory_buffer_cap = 64 << 20;
    config.mem_map_type = MemMapType::MemMapTypeMemFd;
    config.buffer_slice_sizes = vec![
        SizePercentPair {
            size: options.size as u32 + 256,
            percent: 70,
        },
        SizePercentPair {
            size: (16 << 10) + 256,
            percent: 30,
        },
    ];
    SessionManagerConfig::new()
        .with_session_num(1)
        .with_config(config)
}

fn address(options: &Options) -> (String, SocketAddr) {
    let path = format!(
        "{}/rde-bench-{}.sock",
        std::env::temp_dir().display(),
        options.asker
    );
    let address = SocketAddr::from_pathname(&path).expect("a path that is short enough");
    (path, address)
}

async fn write(stream: &mut Stream, message: &[u8]) {
    stream.write_bytes(message).expect("write");
    while let Err(error) = stream.flush(false).await {
        match error {
            Error::QueueFull => tokio::time::sleep(Duration::from_micros(1)).await,
            other => panic!("flush: {other}"),
        }
    }
}

async fn answer_all(mut stream: Stream, size: usize) {
    loop {
        let answer = match stream.read_exact_bytes(size).await {
            Ok(bytes) => sum(&bytes),
            Err(_) => return,
        };
        stream.recv_buf().release_previous_read();
        write(&mut stream, &answer.to_le_bytes()).await;
    }
}

async fn serve(options: Options) {
    let (path, address) = address(&options);
    let _ = std::fs::remove_file(&path);
    let mut listener = Listener::new(
        DefaultUnixListen,
        address,
        configuration(&options).config().clone(),
    )
    .await
    .expect("listen");
    println!("ready");
    let _ = tokio::time::timeout(options.patience(), async {
        while let Ok(stream) = listener.accept().await {
            tokio::spawn(answer_all(stream, options.size));
        }
    })
    .await;
}

async fn trip(stream: &mut Stream, message: &mut [u8], count: u64) {
    fill(message, count);
    write(stream, message).await;
    let bytes = stream.read_exact_bytes(ANSWER).await.expect("an answer");
    let answer = u64::from_le_bytes(bytes[..ANSWER].try_into().expect("an answer"));
    assert_eq!(answer, sum(message), "wrong answer");
    stream.release_read_and_reuse();
}

async fn round_trips(options: &Options, client: &SessionManager<DefaultUnixConnect>) -> Vec<f64> {
    let mut stream = client.get_stream().expect("a stream");
    let mut message = vec![0u8; options.size];
    let mut samples = Vec::new();
    let mut count = 0;
    let end = Instant::now() + options.time;
    let mut start = Instant::now();
    while start < end {
        for _ in 0..BATCH {
            count += 1;
            trip(&mut stream, &mut message, count).await;
        }
        let now = Instant::now();
        samples.push((now - start).as_nanos() as f64 / f64::from(BATCH));
        start = now;
    }
    samples
}

async fn rate(options: &Options, client: &SessionManager<DefaultUnixConnect>) -> Vec<f64> {
    let start = Instant::now();
    let end = start + options.time;
    let done = Rc::new(Cell::new(0u64));
    let local = tokio::task::LocalSet::new();
    for _ in 0..STREAMS {
        let mut stream = client.get_stream().expect("a stream");
        let (done, size) = (done.clone(), options.size);
        local.spawn_local(async move {
            let mut message = vec![0u8; size];
            while Instant::now() < end {
                trip(&mut stream, &mut message, done.get()).await;
                done.set(done.get() + 1);
            }
        });
    }
    local.await;
    vec![done.get() as f64 / start.elapsed().as_secs_f64()]
}

fn main() {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    if options.is_server() {
        return runtime.block_on(serve(options));
    }
    let server = options.serve_beside();
    let (path, address) = address(&options);
    let samples = runtime.block_on(async {
        let client = SessionManager::new(configuration(&options), DefaultUnixConnect, address)
            .await
            .expect("connect");
        if options.rate {
            rate(&options, &client).await
        } else {
            round_trips(&options, &client).await
        }
    });
    options.print("peer-shmipc", &samples);
    drop(server);
    let _ = std::fs::remove_file(path);
}
