//! What the programs share: their options, two pinned processes, and what they print.
//!
//! ```no_run
//! let options = peers::Options::parse();
//! let _other = options.serve_beside();
//! let samples = options.round_trips(|| ping());
//! options.print("peer-mine", &samples);
//! # fn ping() {}
//! ```
//! A program asks its own server, a second process of it, for at most `--milliseconds` and some.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Round trips that make one sample, as in ring-bench.
const BATCH: u32 = 256;
/// Messages that make one sample of a rate.
const WINDOW: u64 = 4096;
const WARM: Duration = Duration::from_millis(50);

#[derive(Clone)]
pub struct Options {
    pub size: usize,
    pub rate: bool,
    pub time: Duration,
    cpus: (usize, usize),
    /// The number of the asking process: its server is called after it.
    pub asker: u32,
    serves: bool,
}

impl Options {
    /// Ends the program with 2 and a text where an option is wrong. The calling thread is pinned afterwards.
    pub fn parse() -> Options {
        let mut options = Options {
            size: 64,
            rate: false,
            time: Duration::from_millis(400),
            cpus: (0, 1),
            asker: std::process::id(),
            serves: false,
        };
        let words: Vec<String> = std::env::args().skip(1).collect();
        for pair in words.chunks(2) {
            let value = pair.get(1).map_or("", String::as_str);
            let good = match pair[0].as_str() {
                "--size" => {
                    value.parse().map(|size| options.size = size).is_ok() && options.size >= 8
                }
                "--mode" => {
                    options.rate = value == "rate";
                    value == "rate" || value == "rtt"
                }
                "--milliseconds" => value
                    .parse()
                    .map(|time| options.time = Duration::from_millis(time))
                    .is_ok(),
                "--cpus" => match value.split_once(',').map(|(a, b)| (a.parse(), b.parse())) {
                    Some((Ok(a), Ok(b))) => {
                        options.cpus = (a, b);
                        true
                    }
                    _ => false,
                },
                "--serve" => {
                    options.serves = true;
                    value.parse().map(|asker| options.asker = asker).is_ok()
                }
                _ => false,
            };
            if !good {
                eprintln!("'{} {value}' is not known: --size BYTES --mode rtt|rate --cpus A,B --milliseconds N", pair[0]);
                std::process::exit(2);
            }
        }
        pin(if options.serves {
            options.cpus.1
        } else {
            options.cpus.0
        });
        options
    }

    pub fn is_server(&self) -> bool {
        self.serves
    }

    /// How long a server may live.
    pub fn patience(&self) -> Duration {
        self.time + Duration::from_secs(20)
    }

    /// Starts the other process, and waits until it has printed that it is ready.
    pub fn serve_beside(&self) -> Server {
        let mut command = Command::new(std::env::current_exe().expect("own path"));
        command
            .args([
                "--serve",
                &self.asker.to_string(),
                "--size",
                &self.size.to_string(),
            ])
            .args(["--mode", if self.rate { "rate" } else { "rtt" }])
            .args(["--milliseconds", &self.time.as_millis().to_string()])
            .args(["--cpus", &format!("{},{}", self.cpus.0, self.cpus.1)])
            .stdout(Stdio::piped());
        // SAFETY: prctl is safe between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let mut child = command.spawn().expect("start the server");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output");
        BufReader::new(output)
            .read_line(&mut line)
            .expect("its ready line");
        assert_eq!(line.trim(), "ready", "the server did not start");
        Server(child)
    }

    /// Nanoseconds a round trip, means of some in a row.
    pub fn round_trips(&self, mut trip: impl FnMut()) -> Vec<f64> {
        let mut samples = Vec::new();
        let warm = Instant::now() + WARM;
        let end = warm + self.time;
        let mut start = Instant::now();
        while start < end {
            for _ in 0..BATCH {
                trip();
            }
            let now = Instant::now();
            if start > warm {
                samples.push((now - start).as_nanos() as f64 / f64::from(BATCH));
            }
            start = now;
        }
        samples
    }

    /// Messages a second; `send` answers how many it has sent, or had answered.
    pub fn rate(&self, mut send: impl FnMut() -> u64) -> Vec<f64> {
        let mut samples = Vec::new();
        let warm = Instant::now() + WARM;
        let end = warm + self.time;
        let mut start = Instant::now();
        let mut count = 0;
        while start < end {
            count += send();
            if count < WINDOW && Instant::now() < end {
                continue;
            }
            let now = Instant::now();
            if start > warm || now >= end {
                samples.push(count as f64 / (now - start).as_secs_f64());
            }
            count = 0;
            start = now;
        }
        samples
    }

    pub fn print(&self, name: &str, samples: &[f64]) {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| {
            sorted
                .get(((sorted.len() - 1) as f64 * share).round() as usize)
                .copied()
                .unwrap_or(0.0)
        };
        let (median, worst) = (at(0.5), at(if self.rate { 0.01 } else { 0.99 }));
        let list: Vec<String> = samples
            .iter()
            .map(|sample| format!("{sample:.1}"))
            .collect();
        println!(
            "{{\"name\":\"{name}\",\"size\":{},\"mode\":\"{}\",\"median\":{median:.1},\"p99\":{worst:.1},\"ops\":{:.0},\"samples\":[{}]}}",
            self.size,
            if self.rate { "rate" } else { "rtt" },
            if self.rate { median } else { 1e9 / median },
            list.join(",")
        );
    }
}

/// Ended when it is dropped.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            if matches!(self.0.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pin(cpu: usize) {
    // SAFETY: the set is plain data, and the call only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set);
    }
}

/// The first byte of a message that ends a server.
pub const STOP: u8 = 0xFF;

/// What a sender fills a message with: another value each time, and never STOP.
pub fn fill(message: &mut [u8], count: u64) {
    message.fill((count % 251) as u8);
}

/// Of every byte: what a receiver answers.
pub fn sum(message: &[u8]) -> u64 {
    let (words, rest) = message.as_chunks::<8>();
    let sum = words.iter().fold(0u64, |sum, word| {
        sum.wrapping_add(u64::from_le_bytes(*word))
    });
    rest.iter()
        .fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}
