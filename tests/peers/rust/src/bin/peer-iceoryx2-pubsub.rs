//! iceoryx2, publish-subscribe: one service for each direction, both sides poll. The rate is one way, where the publisher
//! waits for the subscriber.

use iceoryx2::port::{
    publisher::Publisher, subscriber::Subscriber, update_connections::UpdateConnections,
};
use iceoryx2::prelude::*;
use peers::{fill, sum, Options, STOP};
use std::error::Error;
use std::hint::spin_loop;
use std::time::Instant;

type Sender = Publisher<ipc::Service, [u8], ()>;
type Receiver = Subscriber<ipc::Service, [u8], ()>;

const ANSWER: usize = 8;
const BUFFER: usize = 64;

struct Ports {
    to: Sender,
    from: Receiver,
}

fn open(options: &Options) -> Result<Ports, Box<dyn Error>> {
    let node = NodeBuilder::new().create::<ipc::Service>()?;
    let service = |way: &str| -> Result<_, Box<dyn Error>> {
        Ok(node
            .service_builder(
                &format!("rde-bench/{}/{way}", options.asker)
                    .as_str()
                    .try_into()?,
            )
            .publish_subscribe::<[u8]>()
            .enable_safe_overflow(false)
            .subscriber_max_buffer_size(BUFFER)
            .open_or_create()?)
    };
    let (asks, answers) = (service("asks")?, service("answers")?);
    let (out, back) = if options.is_server() {
        (answers, asks)
    } else {
        (asks, answers)
    };
    Ok(Ports {
        to: out
            .publisher_builder()
            .initial_max_slice_len(options.size.max(ANSWER))
            .create()?,
        from: back.subscriber_builder().buffer_size(BUFFER).create()?,
    })
}

fn send(to: &Sender, message: &[u8]) -> Result<(), Box<dyn Error>> {
    to.loan_slice_uninit(message.len())?
        .write_from_slice(message)
        .send()?;
    Ok(())
}

fn serve(options: &Options, ports: &Ports) -> Result<(), Box<dyn Error>> {
    println!("ready");
    let end = Instant::now() + options.patience();
    let mut idle = 0u32;
    let mut seen = 0u64;
    loop {
        let Some(message) = ports.from.receive()? else {
            spin_loop();
            idle += 1;
            if idle % (1 << 20) == 0 && Instant::now() > end {
                return Ok(());
            }
            continue;
        };
        if message[0] == STOP {
            return Ok(());
        }
        let answer = sum(&message);
        if options.rate {
            seen = seen.wrapping_add(answer);
            std::hint::black_box(seen);
        } else {
            send(&ports.to, &answer.to_le_bytes())?;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    set_log_level(LogLevel::Error);
    let options = Options::parse();
    let ports = open(&options)?;
    if options.is_server() {
        return serve(&options, &ports);
    }
    let _server = options.serve_beside();
    ports.to.update_connections()?;
    let mut message = vec![0u8; options.size];
    let mut count = 0;
    let samples = if options.rate {
        options.rate(|| {
            count += 1;
            fill(&mut message, count);
            send(&ports.to, &message).expect("send");
            1
        })
    } else {
        options.round_trips(|| {
            count += 1;
            fill(&mut message, count);
            send(&ports.to, &message).expect("send");
            let answer = loop {
                match ports.from.receive().expect("receive") {
                    Some(answer) => {
                        break u64::from_le_bytes(answer[..ANSWER].try_into().expect("an answer"))
                    }
                    None => spin_loop(),
                }
            };
            assert_eq!(answer, sum(&message), "wrong answer");
        })
    };
    message[0] = STOP;
    send(&ports.to, &message)?;
    options.print("peer-iceoryx2-pubsub", &samples);
    Ok(())
}
